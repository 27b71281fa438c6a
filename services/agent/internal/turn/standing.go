package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// standing are the standing rules of a session, as policy judges by them.
func standing(s ledger.Session) (all []policy.Standing) {
	for _, one := range s.Standing {
		all = append(all, one.Standing)
	}
	return all
}

// stand writes a standing rule, in the transaction of the decision that it comes of (C75).
func stand(w *ledger.Work, a gate.Approval, rule policy.Standing) {
	one := ledger.Standing{Standing: rule, Digest: a.Digest}
	w.Session.Standing = append(w.Session.Standing, one)
	w.Row(ruleRow(one, "WRITTEN", rule.Text("en")))
}

func tooMany(a gate.Approval) gate.Ruling {
	return gate.Ruling{Refused: &gate.Refusal{
		Code: gate.TooManyRules, Approval: a.ID,
		Why: fmt.Sprintf("the session has %d standing rules, as many as it may have: take one back, or approve this call alone", ledger.MaxStanding),
	}}
}

// ruleRow tells of a standing rule. That it was used is told by the router, with the call.
func ruleRow(s ledger.Standing, verdict, reason string) audit.Entry {
	e := audit.Entry{Kind: audit.Rule, Verdict: verdict, Reason: tool.PlainLine(reason, gate.MaxSaid), CallHash: string(s.Call), Digest: string(s.Digest)}
	details, err := json.Marshal(struct {
		Standing string       `json:"standing"`
		Scope    policy.Scope `json:"scope"`
		Tool     string       `json:"tool"`
		Root     string       `json:"root,omitempty"`
		Path     string       `json:"path,omitempty"`
		Approver string       `json:"approver"`
		Expires  string       `json:"expires"`
	}{s.ID, s.Scope, s.Tool, s.Root, s.Path, s.Approver, s.Expires.UTC().Format(time.RFC3339)})
	if err == nil && len(details) <= audit.MaxDetails {
		e.Details = string(details)
	}
	return e
}

// end ends the rules for which there is a reason.
func end(w *ledger.Work, why func(ledger.Standing) string) {
	w.Session.Standing = slices.DeleteFunc(slices.Clone(w.Session.Standing), func(s ledger.Standing) bool {
		reason := why(s)
		if reason != "" {
			w.Row(ruleRow(s, "ENDED", reason))
		}
		return reason != ""
	})
	if len(w.Session.Standing) == 0 {
		w.Session.Standing = nil
	}
}

// overRules ends the rules of a session that has ended, or is being stopped, and those whose time is over (S8).
func overRules(w *ledger.Work) {
	end(w, func(s ledger.Standing) string {
		switch {
		case w.Session.State.Lifecycle != session.Open:
			return "SESSION_ENDED"
		case !w.Now.Before(s.Expires):
			return "EXPIRED"
		}
		return ""
	})
}

// changedTools ends the rules for tools that are not what they were: also where one becomes again what it was, a person decides anew (S18).
func changedTools(w *ledger.Work, tools *tool.Registry) {
	end(w, func(s ledger.Standing) string {
		if tools != nil {
			if t, ok := tools.Find(s.Tool); ok && t.Hash == s.Definition {
				return ""
			}
		}
		return string(session.VoidToolChanged)
	})
}

// Revoke takes a standing rule back: whoever gave it may, and every approver. A call that it has allowed and that has not begun does not start
// any more. *gate.Refusal, store.ErrNotFound for a rule that is not there, or no longer.
func (e *Engine) Revoke(ctx context.Context, ns, id, rule string, who gate.Who) (ledger.Session, error) {
	if who.Session != "" || who.Name == "" {
		return ledger.Session{}, &gate.Refusal{Code: gate.NotPerson, Why: "only a person takes a standing rule back"}
	}
	return e.Ledger.Change(ctx, ns, id, who.Actor(), func(w *ledger.Work) error {
		i := slices.IndexFunc(w.Session.Standing, func(s ledger.Standing) bool { return s.ID == rule })
		switch {
		case i < 0 || who.Namespace != ns:
			return store.ErrNotFound
		case w.Session.Standing[i].Approver != who.Name && !slices.Contains(who.Roles, policy.RoleApprover):
			return &gate.Refusal{Code: gate.NotApprover, Why: "a standing rule is taken back by whoever gave it, or by somebody with the role " + policy.RoleApprover}
		}
		end(w, func(s ledger.Standing) string {
			if s.ID == rule {
				return "REVOKED"
			}
			return ""
		})
		return nil
	})
}
