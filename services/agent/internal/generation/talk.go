package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const (
	// maxShown is how many nodes a model is shown in one turn.
	maxShown = 3
	// maxWishes is how many of the nodes that one answer asks for are looked at.
	maxWishes = 16
	// mostDetail and leastDetail are how many characters of a node a model is shown; fewer are none.
	mostDetail, leastDetail = 8000, 500
	// maxAskedID bounds what is told of an id that a model made up, in characters.
	maxAskedID = 100
)

// said is what a model said in one turn: usually one answer, and several where it asked for nodes.
type said struct {
	// texts are its earlier answers, and what it was shown; from is where the last answer begins in the log.
	texts []NodeText
	from  int
	// last is what the server says of the last answer; total are the figures of all: of the prompt those of the first.
	last, total llm.Result
	// answered says that it asked for nodes and was answered, shown how many it got.
	answered bool
	shown    int
	// added are the tokens that answers and replies have added to the prompt.
	added int
}

// add takes what the server says of an answer.
func (t *said) add(r llm.Result, first bool) {
	t.last = r
	t.added += r.AnswerTokens + messageTokens
	if first {
		t.total = r
		return
	}
	t.total.Finish, t.total.StopString = r.Finish, r.StopString
	t.total.AnswerTokens += r.AnswerTokens
	t.total.AnswerTime += r.AnswerTime
}

// DetailOutcome is what a model got that asked for a node, by the names of the contract's enum.
type DetailOutcome string

// The outcomes.
const (
	DetailShown   DetailOutcome = "SHOWN"
	DetailLimit   DetailOutcome = "LIMIT"
	DetailUnknown DetailOutcome = "UNKNOWN"
)

// Detail says that the model asked for a node of its context, and what it was told. ID is its number among the pieces.
type Detail struct {
	ID int
	// Asked is what the model wrote, Node the node, zero where it was not shown.
	Asked   string
	Node    uuid.UUID
	Outcome DetailOutcome
	Text    string
}

func (Detail) event() {}

// answer takes the model's answer into the log. Where it asks for nodes, it is answered in one more call (field/systemprompt-rules.md 4);
// one that then asks again gets no further one. The error is why the answer is not whole, or errFull.
func (s *Service) answer(ctx context.Context, g *generation, p plan) (said, error) {
	var t said
	req := p.asking()
	for {
		result, err := s.ask(ctx, g, p.model, req)
		t.add(result, !t.answered)
		if err != nil {
			return t, err
		}
		text := g.answerText()[t.from:]
		wishes := p.wishes(text, result)
		if t.answered {
			refuse(g, wishes)
		}
		if len(wishes) == 0 || t.answered {
			return t, nil
		}
		t.answered = true
		replies, err := s.reply(ctx, g, p, &t, wishes)
		if err != nil {
			return t, err
		}
		t.turn(text, replies, g)
		req.Messages = append(slices.Clone(req.Messages), dialogue(text, wishes, replies)...)
	}
}

// refuse tells the watchers of what the model asks for and is not answered.
func refuse(g *generation, wishes []wish) {
	for _, w := range wishes {
		d := Detail{Asked: w.asked, Outcome: DetailLimit}
		if w.entry == nil {
			d.Outcome = DetailUnknown
		}
		g.tell(d)
	}
}

// asking is what the model is asked first.
func (p plan) asking() llm.Request {
	q := llm.Request{Prompt: p.built.Prompt, Suffix: lastBytes(p.built.Prompt, p.built.Suffix), Sampling: p.Sampling}
	if c := p.built.Chat; c != nil {
		q.Messages, q.Tools = c.Messages, p.built.Tools
	}
	return q
}

// turn puts an answer and what came of it among the texts. Of an empty answer, which only called a tool, nothing stays.
func (t *said) turn(text string, replies []string, g *generation) {
	if text != "" {
		t.texts = append(t.texts, answerOf(text, t.last))
	}
	for _, r := range replies {
		t.texts = append(t.texts, NodeText{Role: roleTool, Content: r})
	}
	t.from = len(g.answerText())
}

// wish is a node that a model asks for. entry is nil where it stands nowhere in the context.
type wish struct {
	asked string
	entry *nodecontext.Entry
	// call is how it asked; without an id where it did so by a sentence.
	call llm.ToolCall
}

// wishes are the nodes that an answer asks for, each once, by tool calls or else by sentences. One that was cut asks for none. A call
// without an id gets one that no other of the turn has: servers tell calls apart by it.
func (p plan) wishes(text string, r llm.Result) (all []wish) {
	c := p.built.Chat
	if c == nil || !c.Detail || r.Finish == llm.FinishLength {
		return nil
	}
	asked := map[uuid.UUID]bool{}
	for i, call := range r.Calls[:min(len(r.Calls), maxWishes)] {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call-%d", i+1)
		}
		w := wish{asked: askedFor(call), call: call}
		if e, ok := c.Context.Built.Printed(w.asked); ok && call.Name == nodecontext.Tool {
			if asked[e.ID] {
				continue
			}
			w.entry, asked[e.ID] = &e, true
		}
		all = append(all, w)
	}
	if len(all) > 0 {
		return all
	}
	for _, e := range c.Context.Built.Asked(text) {
		all = append(all, wish{asked: e.TextID, entry: &e})
	}
	return all[:min(len(all), maxWishes)]
}

// askedFor is the id in a call, else what the model wrote instead.
func askedFor(call llm.ToolCall) string {
	var args struct {
		NodeID string `json:"node_id"`
	}
	asked := call.Arguments
	if err := json.Unmarshal([]byte(call.Arguments), &args); err == nil && args.NodeID != "" {
		asked = strings.TrimSpace(args.NodeID)
	}
	if call.Name != nodecontext.Tool {
		asked = call.Name
	}
	runes := []rune(asked)
	return string(runes[:min(len(runes), maxAskedID)])
}

// reply tells the model of each node that it asks for, and the watchers of that.
func (s *Service) reply(ctx context.Context, g *generation, p plan, t *said, wishes []wish) (replies []string, err error) {
	set := p.Chat.Settings
	for _, w := range wishes {
		d := Detail{Asked: w.asked, Outcome: DetailUnknown}
		switch {
		case w.entry == nil:
		case t.shown == maxShown:
			d.Outcome = DetailLimit
		default:
			d.Outcome, d.Text, err = s.show(ctx, g.ns, p, t, *w.entry)
		}
		switch {
		case err != nil:
		case d.Outcome == DetailShown:
			d.Node = w.entry.ID
			t.shown++
		case d.Outcome == DetailLimit:
			d.Text, err = s.contexts.LimitText(ctx, g.ns, set, w.asked)
		default:
			d.Text, err = s.contexts.UnknownText(ctx, g.ns, set, w.asked)
		}
		if err != nil {
			return nil, err
		}
		g.tell(d)
		replies = append(replies, d.Text)
	}
	return replies, nil
}

// show gives as much of a node as the window has room for beside the answer: all that may be shown, or half of it and so on. It is
// unknown where it went away.
func (s *Service) show(ctx context.Context, ns string, p plan, t *said, e nodecontext.Entry) (DetailOutcome, string, error) {
	room := p.built.Measured.Window - p.Sampling.MaxTokens - p.built.Tokens - t.added
	for chars := mostDetail; chars >= leastDetail; chars /= 2 {
		text, err := s.contexts.Detail(ctx, ns, p.Chat.Settings, e, chars)
		if errors.Is(err, nodecontext.ErrNoNode) {
			return DetailUnknown, "", nil
		}
		if err != nil {
			return DetailUnknown, "", err
		}
		n, _, err := s.count(ctx, ns, p.Backend, []string{text})
		if err != nil {
			return DetailUnknown, "", err
		}
		if n += messageTokens; n <= room {
			t.added += n
			return DetailShown, text, nil
		}
	}
	return DetailLimit, "", nil
}

// dialogue is what an answer and the replies to it add to the conversation: as messages of the tool that was called, or of the user.
func dialogue(text string, wishes []wish, replies []string) []llm.Message {
	if wishes[0].call.ID == "" {
		return []llm.Message{{Role: llm.RoleAssistant, Content: text}, {Role: llm.RoleUser, Content: strings.Join(replies, joint)}}
	}
	asked := llm.Message{Role: llm.RoleAssistant, Content: text}
	var answers []llm.Message
	for i, w := range wishes {
		asked.Calls = append(asked.Calls, w.call)
		answers = append(answers, llm.Message{Role: llm.RoleTool, Content: replies[i], CallID: w.call.ID})
	}
	return append([]llm.Message{asked}, answers...)
}
