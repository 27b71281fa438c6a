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
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

const (
	// maxAsked bounds what is told of an id that a model made up, in characters.
	maxAsked = 100
	// MaxRefs is how many nodes a prompt tells of, as references (field/systemprompt-rules.md 4).
	MaxRefs = 10
)

// Flows tells which nodes a flow has.
type Flows interface {
	// Members gives the nodes of a flow, by their numbers. conversation.ErrNoFlow, conversation.ErrAway.
	Members(ctx context.Context, ns string, flow uuid.UUID) ([]uuid.UUID, error)
}

// find gives the node that a model asks for: of the session's own flow or of one of its references, by its id in the text, its UUID, or the
// number of its turn. The zero UUID is for none. A flow that cannot be looked at stops the search.
func (t *Tools) find(ctx context.Context, asked string) (uuid.UUID, error) {
	if n := conversation.Turn(t.Session, asked); n > 0 {
		return conversation.NodeID(t.Session.ID, n), nil
	}
	asked = conversation.Plain(asked)
	is := func(id uuid.UUID) bool { return asked == id.String() || asked == conversation.TextID(id) }
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

// refs are the nodes and flows that the references of a session name: `conversation:` and the number of a turn, the number behind `sessions/`, a UUID
// and `/` for one of another session, a node (its UUID, with or without `nodes/`), or `flows/` and a UUID. Files and plans are told as evidence.
func refs(s ledger.Session) (nodes, flows []uuid.UUID) {
	for _, ref := range s.Thread.Told() {
		name, ok := strings.CutPrefix(ref, session.RefConversation)
		if !ok {
			continue
		}
		if n := conversation.Turn(s, name); n > 0 {
			nodes = append(nodes, conversation.NodeID(s.ID, n))
		} else if flow, ok := strings.CutPrefix(name, "flows/"); ok {
			if id, err := uuid.Parse(flow); err == nil {
				flows = append(flows, id)
			}
		} else if id := node(name); id != uuid.Nil {
			nodes = append(nodes, id)
		}
	}
	return nodes, flows
}

// node is a node by its UUID, or by its number in another session; the zero UUID is for none.
func node(name string) uuid.UUID {
	if other, ok := strings.CutPrefix(name, "sessions/"); ok {
		id, number, _ := strings.Cut(other, "/")
		if n, err := strconv.ParseUint(number, 10, 31); err == nil && n > 0 {
			return conversation.NodeID(id, int(n))
		}
		return uuid.Nil
	}
	id, err := uuid.Parse(strings.TrimPrefix(name, "nodes/"))
	if err != nil {
		return uuid.Nil
	}
	return id
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
