package generation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Chat asks for the answer to a message of a conversation. Fields are those of the contract's Chat, where their limits stand.
type Chat struct {
	// Context: the path is told as a context, and its Last nodes as messages; otherwise all of it is messages.
	Context bool
	System  string
	// NoDetail: the model may not ask for nodes.
	NoDetail  bool
	Last      int
	Refs      nodecontext.Refs
	Ancestors *int
	// Settings are those of the context. Its backend is that of the request.
	Settings nodecontext.Settings
}

// ChatBuilt tells of a conversation. In an Opened the messages are left out, and the text of the context.
type ChatBuilt struct {
	Messages []llm.Message
	// Nodes are those that are messages, oldest first; Dropped how many before them had no room.
	Nodes   []uuid.UUID
	Dropped int
	// Context is nil where all of the path is messages.
	Context *nodecontext.Context
	// Detail: the model may ask for nodes of the context.
	Detail bool
}

const (
	// taskChat is the Task of a conversation.
	taskChat = "CHAT"
	// maxCounted is how many texts promptbuilder counts in one call.
	maxCounted = 64
	// messageTokens and toolTokens are what a message and a tool are taken to need beside their texts: each model has a form of its own.
	messageTokens, toolTokens = 16, 256

	joint = "\n\n"
)

// spoken is what was said in a node.
type spoken struct {
	id    uuid.UUID
	texts []NodeText
}

// conversation is what a model is asked, before it is measured.
type conversation struct {
	system string
	nodes  []spoken
	user   string
	tools  []llm.Tool
	// detail: the model may ask for nodes of the context, with tools or by sentences alone.
	detail bool
	// dropped are nodes before those in nodes.
	dropped int
	context *nodecontext.Context
}

// chat makes the messages of a request and measures them. *llm.BudgetError before anything is read; *llm.OverflowError.
func (s *Service) chat(ctx context.Context, ns string, req Request, model llm.Generator) (Built, error) {
	found, err := model.Window(ctx)
	if err != nil {
		return Built{}, err
	}
	if req.Sampling.MaxTokens >= found.Window {
		return Built{}, &llm.BudgetError{Window: found.Window, MaxTokens: req.Sampling.MaxTokens}
	}
	c := conversation{system: req.Chat.System, user: req.Text}
	if req.Chat.Context {
		err = s.tellContext(ctx, ns, req, found.Backend, &c)
		// Under a grammar a model cannot call, and llama.cpp takes none beside tools.
		if t, ok := model.(llm.Teller); err == nil && c.detail && ok && t.Tells().Tools && req.Sampling.Grammar == "" {
			c.tools, err = s.tools(ctx, ns, req, found.Backend)
		}
	} else {
		err = s.tellPath(ctx, ns, req, &c)
	}
	if err != nil {
		return Built{}, err
	}
	return s.measure(ctx, ns, req, c)
}

// tellPath takes what was said on the way to the parent.
func (s *Service) tellPath(ctx context.Context, ns string, req Request, c *conversation) error {
	if req.Parent == uuid.Nil {
		return nil
	}
	size := 0
	return s.walk(ctx, ns, req, func() func(PathNode) {
		c.nodes, c.dropped, size = nil, 0, 0
		return func(n PathNode) {
			c.nodes = append(c.nodes, spoken{n.ID, n.Texts})
			for size += bytesOf(n.Texts); size > maxBody; c.dropped++ {
				size -= bytesOf(c.nodes[0].texts)
				c.nodes = c.nodes[1:]
			}
		}
	})
}

func bytesOf(texts []NodeText) (size int) {
	for _, t := range texts {
		size += len(t.Content)
	}
	return size
}

// contextRequest is the request for the context of a conversation.
func (r Request) contextRequest(backend string) nodecontext.Request {
	q := nodecontext.Request{
		Flow: r.Flow, Refs: r.Chat.Refs, Ancestors: r.Chat.Ancestors, Last: r.Chat.Last, Settings: r.Chat.Settings,
	}
	if r.Parent != uuid.Nil {
		q.Parents = []uuid.UUID{r.Parent}
	}
	q.Settings.NoCurrent, q.Settings.NoDetails = true, r.Chat.NoDetail
	if q.Settings.Counter == "" {
		q.Settings.Backend = backend
	}
	return q
}

// tellContext takes the context and the last nodes of the path.
func (s *Service) tellContext(ctx context.Context, ns string, req Request, backend string, c *conversation) error {
	q := req.contextRequest(backend)
	got, err := s.contexts.Build(ctx, ns, q)
	if err != nil {
		return err
	}
	for _, n := range got.Last {
		said := spoken{id: n.ID}
		for _, t := range n.Texts {
			said.texts = append(said.texts, NodeText{Role: t.Role, Content: t.Content})
		}
		c.nodes = append(c.nodes, said)
	}
	got.Last = nil
	c.context = &got
	c.system = strings.Join(slices.DeleteFunc([]string{c.system, got.Built.Text}, func(text string) bool { return text == "" }), joint)
	c.detail = !req.Chat.NoDetail && got.Built.AnyPrinted()
	return nil
}

// tools are those of a conversation in which the model may ask for nodes.
func (s *Service) tools(ctx context.Context, ns string, req Request, backend string) ([]llm.Tool, error) {
	what, err := s.contexts.ToolText(ctx, ns, req.contextRequest(backend).Settings)
	return []llm.Tool{{Name: nodecontext.Tool, Description: what, Schema: nodecontext.ToolSchema}}, err
}

// measure counts a conversation. Nodes that have no room beside the answer go from the oldest.
func (s *Service) measure(ctx context.Context, ns string, req Request, c conversation) (Built, error) {
	tokens, measured, err := s.countFixed(ctx, ns, req.Backend, c)
	if err != nil {
		return Built{}, err
	}
	limit := measured.Window - req.Sampling.MaxTokens
	if tokens > limit {
		return Built{}, &llm.OverflowError{Limit: limit, Tokens: tokens, MaxTokens: req.Sampling.MaxTokens, Field: "text"}
	}
	kept := 0
	for kept < len(c.nodes) {
		last := c.nodes[len(c.nodes)-1-kept]
		n, _, err := s.count(ctx, ns, req.Backend, contents(last.texts))
		if err != nil {
			return Built{}, err
		}
		if n += messageTokens * len(last.texts); tokens+n > limit {
			break
		}
		tokens += n
		kept++
	}
	c.dropped += len(c.nodes) - kept
	c.nodes = c.nodes[len(c.nodes)-kept:]
	return c.built(tokens, measured), nil
}

// countFixed counts what is never left out.
func (s *Service) countFixed(ctx context.Context, ns, backend string, c conversation) (int, llm.Identity, error) {
	texts := []string{c.user, c.system}
	extra := 2 * messageTokens
	for _, t := range c.tools {
		texts = append(texts, t.Name, t.Description, t.Schema)
		extra += toolTokens
	}
	n, measured, err := s.count(ctx, ns, backend, texts)
	return n + extra, measured, err
}

// count gives the tokens of texts together, and who counted.
func (s *Service) count(ctx context.Context, ns, backend string, texts []string) (sum int, measured llm.Identity, err error) {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	for len(texts) > 0 {
		n, size := 0, 0
		for n < min(len(texts), maxCounted) && (n == 0 || size+len(texts[n]) <= maxBody) {
			size += len(texts[n])
			n++
		}
		counts, who, err := s.prompts.Count(ctx, ns, backend, texts[:n])
		if err != nil {
			return 0, llm.Identity{}, err
		}
		for _, c := range counts {
			sum += c
		}
		texts, measured = texts[n:], who
	}
	return sum, measured, nil
}

func contents(texts []NodeText) (all []string) {
	for _, t := range texts {
		all = append(all, t.Content)
	}
	return all
}

// built makes the messages.
func (c conversation) built(tokens int, measured llm.Identity) Built {
	var m messages
	m.say(llm.RoleSystem, c.system)
	report := &ChatBuilt{Dropped: c.dropped, Context: c.context, Detail: c.detail}
	for _, n := range c.nodes {
		report.Nodes = append(report.Nodes, n.id)
		for _, t := range n.texts {
			m.say(m.role(t.Role), t.Content)
		}
	}
	m.say(llm.RoleUser, c.user)
	report.Messages = m
	return Built{Chat: report, Tools: c.tools, Digest: m.digest(c.tools), Task: taskChat, Tokens: tokens, Measured: measured}
}

// messages are a conversation, in which no two neighbours are of one role: the forms of many models take no others.
type messages []llm.Message

func (m *messages) say(role llm.Role, text string) {
	switch n := len(*m); {
	case text == "":
	case n > 0 && (*m)[n-1].Role == role:
		(*m)[n-1].Content += joint + text
	default:
		*m = append(*m, llm.Message{Role: role, Content: text})
	}
}

// role is that of a text of a node: a tool's answer without its call, and a system message in the middle, are the user's.
func (m messages) role(of string) llm.Role {
	switch begins := len(m) == 0 || len(m) == 1 && m[0].Role == llm.RoleSystem; {
	case of == roleAssistant:
		return llm.RoleAssistant
	case of == roleSystem && begins:
		return llm.RoleSystem
	default:
		return llm.RoleUser
	}
}

// digest is the SHA-256, in hex, of role 00 content 00 of each message, and name 00 description 00 schema 00 of each tool.
func (m messages) digest(tools []llm.Tool) string {
	sum := sha256.New()
	for _, one := range m {
		//nolint:errcheck // a hash takes everything
		io.WriteString(sum, string(one.Role)+"\x00"+one.Content+"\x00")
	}
	for _, t := range tools {
		//nolint:errcheck // a hash takes everything
		io.WriteString(sum, t.Name+"\x00"+t.Description+"\x00"+t.Schema+"\x00")
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// shown is what an Opened keeps of it.
func (c ChatBuilt) shown() *ChatBuilt {
	c.Messages = nil
	if c.Context != nil {
		told := *c.Context
		told.Built.Text = ""
		c.Context = &told
	}
	return &c
}
