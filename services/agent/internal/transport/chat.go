package transport

import (
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Limits of a conversation: of its system message in bytes, and of the nodes that are messages beside a context.
const (
	maxSystem = 1 << 20
	maxLast   = 50
)

// chat reads a conversation; nil where none is asked for.
func chat(f *apierr.Fields, q *agentv1.GenerateNodeRequest) *generation.Chat {
	c := q.GetChat()
	if c == nil {
		return nil
	}
	checkChat(f, q)
	f.Size("chat.system", c.GetSystem(), maxSystem)
	if enum(f, "chat.source", c.GetSource(), "CHAT_SOURCE_") != "CONTEXT" {
		return &generation.Chat{System: c.GetSystem()}
	}
	out := &generation.Chat{
		Context: true, System: c.GetSystem(), Last: 1,
		NoDetail: c.NodeDetail != nil && !c.GetNodeDetail(),
		Refs:     references(f, "chat.", c.GetRefs()), Ancestors: ancestors(f, "chat.", c.AncestorsMax),
		Settings: nodecontext.Settings{
			Counter: c.GetCounter(), Locale: c.GetLocale(), MaxTokens: int(c.GetMaxTokens()), TrimStep: int(c.GetTrimStep()),
			Layout: enum(f, "chat.layout", c.GetLayout(), "CONTEXT_LAYOUT_"), Texts: c.GetTexts(),
		},
	}
	if c.LastNodes != nil {
		out.Last = int(c.GetLastNodes())
	}
	within(f, "chat.last_nodes", out.Last, maxLast)
	return out
}

// checkChat finds what a conversation would leave without effect, and what it needs.
func checkChat(f *apierr.Fields, q *agentv1.GenerateNodeRequest) {
	refuse := func(why string, fields map[string]bool) {
		for field, given := range fields {
			if given {
				f.Add(field, "%s", why)
			}
		}
	}
	refuse("not together with chat, which is no story", map[string]bool{
		"prompt": q.GetPrompt() != "", "story": q.GetStory() != nil, "build": q.GetBuild() != nil, "pick_seed": q.GetPickSeed() != 0,
		"block_order": q.GetBlockOrder() != 0, "note_header": q.GetNoteHeader() != 0, "send_overflow": q.GetSendOverflow(), "every_option": q.GetEveryOption(),
		"repeat": q.GetRepeat() != 0,
	})
	refuse("must not be empty with chat: it is the message that is answered", map[string]bool{"text": q.GetText() == ""})
	if q.GetChat().GetSource() == agentv1.ChatSource_CHAT_SOURCE_CONTEXT {
		refuse("not together with CHAT_SOURCE_CONTEXT, which tells of all branches", map[string]bool{"via": len(q.GetVia()) > 0})
		refuse("is required with CHAT_SOURCE_CONTEXT", map[string]bool{"flow": q.GetFlow() == "" && !f.Has("flow")})
		return
	}
	only := map[string]bool{}
	q.GetChat().ProtoReflect().Range(func(d protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		only["chat."+string(d.Name())] = d.Name() != "source" && d.Name() != "system"
		return true
	})
	refuse("only together with CHAT_SOURCE_CONTEXT", only)
}

// ofContext are the fields of BuildNodeContext that a conversation has under `chat`.
var ofContext = []string{"refs", "counter", "locale", "ancestors_max", "max_tokens", "trim_step", "layout", "texts"}

// inChat gives the fields of a context's refusal the names that they have in a conversation.
func inChat(q *agentv1.GenerateNodeRequest, err error) error {
	var own *apierr.Error
	if q.GetChat() == nil || !errors.As(err, &own) {
		return err
	}
	renamed := *own // every watcher has the same error
	renamed.Violations = slices.Clone(own.Violations)
	for i, v := range renamed.Violations {
		if head := v.Field[:strings.IndexAny(v.Field+".", ".[")]; slices.Contains(ofContext, head) {
			renamed.Violations[i].Field = "chat." + v.Field
		}
	}
	return &renamed
}

func chatOpened(c *generation.ChatBuilt) *agentv1.ChatOpened {
	if c == nil {
		return nil
	}
	out := &agentv1.ChatOpened{DroppedNodes: int32(c.Dropped), NodeDetail: c.Detail}
	for _, m := range c.Messages {
		out.Messages = append(out.Messages, &agentv1.ChatMessage{Role: string(m.Role), Content: m.Content})
	}
	for _, id := range c.Nodes {
		out.Nodes = append(out.Nodes, wire.Name(wire.Nodes, id))
	}
	if c.Context != nil {
		out.Context = fromContext(*c.Context)
	}
	return out
}

func detail(d generation.Detail) *agentv1.NodeDetail {
	return &agentv1.NodeDetail{
		Id: d.Asked, Node: wire.Name(wire.Nodes, d.Node), Text: d.Text,
		Outcome: agentv1.NodeDetailOutcome(agentv1.NodeDetailOutcome_value["NODE_DETAIL_OUTCOME_"+string(d.Outcome)]),
	}
}
