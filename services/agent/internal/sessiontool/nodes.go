package sessiontool

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

const (
	// maxAsked bounds what is told of an id that a model made up, in characters.
	maxAsked = 100
	// textDigits are the last digits of a UUID by which a prompt names a node.
	textDigits = 8
	// maxNumber bounds the digits of the number of a turn: more are those of a UUID.
	maxNumber = 6
	// MaxRefs is how many nodes a prompt tells of, as references (field/systemprompt-rules.md 4).
	MaxRefs = 10
	// conversations is how a reference to a conversation begins.
	conversations = "conversation:"
)

// Flows tells which nodes a flow has.
type Flows interface {
	// Members gives the nodes of a flow, by their numbers. conversation.ErrNoFlow, conversation.ErrAway.
	Members(ctx context.Context, ns string, flow uuid.UUID) ([]uuid.UUID, error)
}

// textID is how a prompt names a node.
func textID(id uuid.UUID) string {
	s := id.String()
	return s[len(s)-textDigits:]
}

// find gives the node that a model asks for: of the session's own flow or of one of its references, by its id in the text, its UUID, or the
// number of its turn. The zero UUID is for none. A flow that cannot be looked at stops the search.
func (t *Tools) find(ctx context.Context, asked string) (uuid.UUID, error) {
	asked = strings.ToLower(strings.Trim(strings.TrimPrefix(strings.TrimSpace(asked), conversations), "[] "))
	asked = strings.TrimPrefix(asked, "nodes/")
	if id, ok := numbered(t.Session, asked); ok {
		return id, nil
	}
	is := func(id uuid.UUID) bool { return asked == id.String() || asked == textID(id) }
	for n := t.Session.Nodes; n > 0; n-- {
		if id := conversation.NodeID(t.Session.ID, n); is(id) {
			return id, nil
		}
	}
	nodes, flows := refs(t.Session)
	for _, id := range nodes {
		if is(id) {
			return id, nil
		}
	}
	if own, err := uuid.Parse(t.Session.Flow); err == nil {
		flows = append(flows, own)
	}
	for _, flow := range flows {
		members, err := members(ctx, t.Flows, t.Namespace, flow)
		if err != nil {
			return uuid.Nil, err
		}
		for _, id := range members {
			if is(id) {
				return id, nil
			}
		}
	}
	return uuid.Nil, nil
}

// members are those of a flow; of one that is gone there are none.
func members(ctx context.Context, f Flows, ns string, flow uuid.UUID) ([]uuid.UUID, error) {
	all, err := f.Members(ctx, ns, flow)
	if errors.Is(err, conversation.ErrNoFlow) {
		return nil, nil
	}
	return all, err
}

// numbered gives the node of a turn by its number.
func numbered(s ledger.Session, text string) (uuid.UUID, bool) {
	n, err := strconv.Atoi(text)
	if err != nil || len(text) > maxNumber || n < 1 || n > s.Nodes {
		return uuid.Nil, false
	}
	return conversation.NodeID(s.ID, n), true
}

// refs are the nodes and flows that the references of a session name: `conversation:` and the number of a turn, a node (its UUID, with or
// without `nodes/`), or `flows/` and a UUID. Any other is of something else, and named elsewhere.
func refs(s ledger.Session) (nodes, flows []uuid.UUID) {
	for _, ref := range s.Thread.Refs {
		name, ok := strings.CutPrefix(ref, conversations)
		if !ok {
			continue
		}
		if id, ok := numbered(s, name); ok {
			nodes = append(nodes, id)
			continue
		}
		flow, isFlow := strings.CutPrefix(name, "flows/")
		if id, err := uuid.Parse(flow); err == nil && isFlow {
			flows = append(flows, id)
		} else if id, err := uuid.Parse(strings.TrimPrefix(name, "nodes/")); err == nil {
			nodes = append(nodes, id)
		}
	}
	return nodes, flows
}

// Refs gives the nodes that a prompt of the session tells of, as references: those that its `conversation:` references name, and of a flow
// that they name the last ones; at most MaxRefs.
func Refs(ctx context.Context, f Flows, ns string, s ledger.Session) ([]uuid.UUID, error) {
	nodes, flows := refs(s)
	for _, flow := range flows {
		members, err := members(ctx, f, ns, flow)
		if err != nil {
			return nil, err
		}
		room := max(MaxRefs-len(nodes), 0)
		nodes = append(nodes, members[max(0, len(members)-room):]...)
	}
	return nodes[:min(len(nodes), MaxRefs)], nil
}

// Lines reads nodes as far as a line of a prompt can show them. It is a nodecontext.Service.
type Lines interface {
	Lines(ctx context.Context, ns string, ids []uuid.UUID) ([]nodecontext.Excerpt, error)
}

// References gives the nodes that a session refers to, as lines of its prompts.
type References struct {
	Flows Flows
	Nodes Lines
}

// Lines gives the nodes of Refs, as far as they are still there.
func (r References) Lines(ctx context.Context, ns string, s ledger.Session) ([]nodecontext.Excerpt, error) {
	ids, err := Refs(ctx, r.Flows, ns, s)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.Nodes.Lines(ctx, ns, ids)
}
