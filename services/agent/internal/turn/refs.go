package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// What a prompt tells of references: of the last so many, and of a file so many lines.
const (
	maxReferred = 4
	maxLines    = 40
)

// refers puts excerpts of the files and plans that a session refers to behind the evidence, where they stay longest (field/systemprompt-rules.md 3.1,
// 3.3). Conversations are told as nodes (sessiontool.Refs).
func (e *Engine) refers(ctx context.Context, ns string, s ledger.Session, r router.Router, p *Prompt) error {
	var refs []string
	for _, ref := range s.Thread.Told() {
		if !strings.HasPrefix(ref, session.RefConversation) {
			refs = append(refs, ref)
		}
	}
	for _, ref := range latest(refs, maxReferred) {
		text, err := e.referred(ctx, ns, s, r, ref)
		if err != nil {
			return err
		}
		p.Evidence = append(p.Evidence, Excerpt{ref, text})
	}
	return ctx.Err()
}

// referred is what is told of one reference.
func (e *Engine) referred(ctx context.Context, ns string, s ledger.Session, r router.Router, ref string) (text string, err error) {
	if id, ok := strings.CutPrefix(ref, session.RefPlan); ok {
		err = e.read(ctx, ns, s.ID, func(t reader) (err error) {
			text, err = t.plan(s, id)
			return err
		})
		return text, err
	}
	return e.excerpt(ctx, ns, s, r, strings.TrimPrefix(ref, session.RefFile)), nil
}

// excerpt is the beginning of a file, as the tool read gives it to the model: by the same rules, and only where nobody would be asked.
func (e *Engine) excerpt(ctx context.Context, ns string, s ledger.Session, r router.Router, name string) string {
	args, err := json.Marshal(map[string]any{"path": name, "limit": maxLines})
	if err != nil {
		return err.Error()
	}
	rs := e.session(ns, s, s.State.Step)
	rs.Guard = nil // The model has not called it.
	j := r.Judge(ctx, rs, router.Call{Tool: tool.Read, Args: args})
	if j.Verdict() == policy.Ask {
		return tool.Outcome(tool.Refused, "a person is asked about reading it: call "+tool.Read).Message()
	}
	return r.ReadAll(ctx, 1, j)[0].Result.Message()
}

// plan is the text of a plan that was approved, in this session or in another one of its owner.
func (r reader) plan(s ledger.Session, id string) (string, error) {
	const none = "There is no such plan that was approved, or its text is no longer kept."
	var broken *ledger.BrokenError
	a, err := r.approval(id)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, &broken):
		return none, nil
	case err != nil:
		return "", err
	case a.Kind != canon.KindPlan || a.Owner != s.Owner || a.Decision == nil || a.Decision.Decision != session.Approve:
		return none, nil
	}
	var c gate.Content
	err = reader{view: r.view, session: a.Session}.json(contentOf(id), &c)
	if errors.Is(err, store.ErrNotFound) {
		return none, nil
	}
	return c.Text, err
}

// referTo adds a reference to what a call has read or written, and takes away that to what is gone.
func referTo(s *ledger.Session, name string, args []byte) {
	var a struct{ Path, Source, Destination string }
	if json.Unmarshal(args, &a) != nil {
		return // They were judged: they are of another tool.
	}
	ref := func(name string) string { return session.RefFile + path.Clean(name) }
	switch name {
	case tool.Read, tool.Write, tool.Create:
		s.Thread = s.Thread.Refer(ref(a.Path))
	case tool.Delete:
		s.Thread = s.Thread.Forget(ref(a.Path))
	case tool.Move:
		s.Thread = s.Thread.Forget(ref(a.Source)).Refer(ref(a.Destination))
	}
}

// lookedUp adds a reference to a turn of the session that the model looked up.
func lookedUp(s *ledger.Session, args []byte) {
	var a struct {
		NodeID string `json:"node_id"`
	}
	if json.Unmarshal(args, &a) != nil {
		return
	}
	if n := conversation.Turn(*s, a.NodeID); n > 0 {
		s.Thread = s.Thread.Refer(fmt.Sprint(session.RefConversation, n))
	}
}
