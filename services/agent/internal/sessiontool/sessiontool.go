// Package sessiontool carries out the tools of a model that look at its own session: session_status, and node_detail for the nodes of its
// conversation (field/systemprompt-rules.md R42 and 4). They change nothing; that and how often they are called is the router's part.
package sessiontool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a container may have no time zones

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// The most nodes that a model is shown because it asks for them (field/systemprompt-rules.md 4), and the most characters of one.
const (
	MaxTurn       = 3
	MaxSession    = 20
	MaxCharacters = 8000
)

// Nodes shows nodes. It is a nodecontext.Service.
type Nodes interface {
	// Detail gives a node as a model is shown it, at most so many characters of its texts. nodecontext.ErrNoNode.
	Detail(ctx context.Context, ns string, set nodecontext.Settings, e nodecontext.Entry, chars int) (string, error)
	// LimitText and UnknownText tell a model that it has had as many as it may, or that there is no such node.
	LimitText(ctx context.Context, ns string, set nodecontext.Settings, textID string) (string, error)
	UnknownText(ctx context.Context, ns string, set nodecontext.Settings, textID string) (string, error)
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Tools carries out the tools for one answer of a model.
type Tools struct {
	Namespace string
	// Session is as it was when the model was asked.
	Session ledger.Session
	Nodes   Nodes
	Flows   Flows
	Clock   Clock
	// ToolCalls are the calls of a turn that are allowed.
	ToolCalls int
	// Characters are the most of a node that the window has room for; 0 is MaxCharacters.
	Characters int

	mu    sync.Mutex
	shown int
}

// Reads are the tools by name, for router.Router.
func (t *Tools) Reads() map[string]router.ReadFunc {
	return map[string]router.ReadFunc{tool.SessionStatus: t.status, tool.NodeDetail: t.detail}
}

// Status is what session_status tells.
type Status struct {
	// CurrentTime is in RFC 3339, in Timezone. TimeFormat is `12-hour` or `24-hour`. Both are those that the prompt names, or UTC and
	// `24-hour`.
	CurrentTime string `json:"current_time"`
	Timezone    string `json:"timezone"`
	TimeFormat  string `json:"time_format"`
	SessionID   string `json:"session_id"`
	// RequestID is that of the message that is being answered.
	RequestID string `json:"request_id"`
	Budget    Budget `json:"budget"`
}

// Budget is what is left until the next message of a person, once the answer is taken that asks for it; its own tool calls are not taken
// off.
type Budget struct {
	ModelCalls int `json:"model_calls_left"`
	ToolCalls  int `json:"tool_calls_left"`
	// Nodes are those that node_detail shows, of the turn and of the session.
	Nodes int `json:"nodes_left"`
}

func (t *Tools) status(context.Context, []byte) ([]byte, error) {
	s := t.Session
	zone, err := time.LoadLocation(s.Zone) // An empty one is UTC.
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	nodes := t.room()
	t.mu.Unlock()
	return json.Marshal(Status{
		CurrentTime: t.Clock.Now().In(zone).Format(time.RFC3339), Timezone: zone.String(), TimeFormat: cmp.Or(s.Hours, "24") + "-hour",
		SessionID: s.ID, RequestID: t.request(),
		Budget: Budget{
			ModelCalls: max(s.ModelCallsLeft()-1, 0), ToolCalls: s.ToolCallsLeft(t.ToolCalls), Nodes: nodes,
		},
	})
}

// request is the id of the message that opened the turn.
func (t *Tools) request() string {
	if len(t.Session.Talk.Messages) == 0 {
		return ""
	}
	id, _, _ := strings.Cut(t.Session.Talk.Messages[0].Text, "/")
	return id
}

// room is how many nodes may still be shown. The caller holds mu.
func (t *Tools) room() int {
	return max(min(MaxTurn-t.Session.Talk.ShownNow, MaxSession-t.Session.Talk.Shown)-t.shown, 0)
}

// take takes one of those, if one is left; give gives it back.
func (t *Tools) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.room() == 0 {
		return false
	}
	t.shown++
	return true
}

func (t *Tools) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown--
}

// detail shows a node. Whatever it does not show is an error, which says why in the words of the prompt.
func (t *Tools) detail(ctx context.Context, args []byte) ([]byte, error) {
	var a struct {
		NodeID string `json:"node_id"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	asked := tool.PlainLine(strings.TrimSpace(a.NodeID), maxAsked)
	set := nodecontext.Settings{Locale: t.Session.Locale}
	id, err := t.find(ctx, a.NodeID)
	switch {
	case err != nil:
		return nil, err
	case id == uuid.Nil:
		return nil, sentence(t.Nodes.UnknownText(ctx, t.Namespace, set, asked))
	case !t.take():
		return nil, sentence(t.Nodes.LimitText(ctx, t.Namespace, set, asked))
	}
	text, err := t.Nodes.Detail(ctx, t.Namespace, set, nodecontext.Entry{ID: id, TextID: conversation.TextID(id)}, t.characters())
	if err == nil {
		return []byte(text), nil
	}
	t.give()
	if errors.Is(err, nodecontext.ErrNoNode) {
		return nil, sentence(t.Nodes.UnknownText(ctx, t.Namespace, set, asked))
	}
	return nil, err
}

func (t *Tools) characters() int {
	if t.Characters <= 0 {
		return MaxCharacters
	}
	return min(t.Characters, MaxCharacters)
}

// sentence is an error that says a text.
func sentence(text string, err error) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}
