package sessionservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Update is what a person changes of a session. Fields are the names of those that change.
type Update struct {
	ID, Etag string
	Fields   []string
	Items    session.Items
	Refs     []string
	Policy   string
	Added    []policy.Rule
	Budgets  ledger.Budgets
	// Fixed are fields that the caller has sent beside them, without saying which ones are to change.
	Fixed Fixed
}

// Editable are the fields that a person may change.
var Editable = []string{"goal", "why_now", "constraints", "plan_brief", "open_questions", "context_refs", "policy", "added_rules", "budgets"}

// Unchangeable are those that a session keeps as it was made with them.
var Unchangeable = []string{"owner", "root", "backend", "locale", "continue_from", "client_tools"}

// Fixed are the values of Unchangeable as a caller sends them. Empty ones are not looked at, and those that the session has are taken: whoever sends
// back a whole session that was read changes nothing by it.
type Fixed struct {
	Owner, Root, Backend, Locale, Continues string
	Tools                                   []clienttool.Declared
}

// differ says of each field that is not as the session has it that it cannot be changed.
func (f Fixed) differ(s *ledger.Session) (all []session.Violation) {
	for _, one := range [...]struct{ field, given, has string }{
		{"owner", f.Owner, s.Owner}, {"root", f.Root, s.Root}, {"backend", f.Backend, s.Backend}, {"locale", f.Locale, s.Locale},
		{"continue_from", f.Continues, s.Continues},
	} {
		if one.given != "" && one.given != one.has {
			all = append(all, wrong(one.field, "is %.60q in the session, and cannot be changed: %s can be", one.has, strings.Join(Editable, ", ")))
		}
	}
	if len(f.Tools) > 0 && !f.sameTools(s) {
		all = append(all, wrong("client_tools", "are others in the session, and cannot be changed: %s can be", strings.Join(Editable, ", ")))
	}
	return all
}

func (f Fixed) sameTools(s *ledger.Session) bool {
	given, err := clienttool.Definitions(f.Tools)
	if err != nil {
		return false
	}
	a, errA := json.Marshal(given)
	b, errB := json.Marshal(s.Tools)
	return errors.Join(errA, errB) == nil && bytes.Equal(a, b)
}

// Update changes a session. *NotFoundError, *etag.StaleError, *Violations with all that cannot be taken, *ledger.NotEndedError of one whose record is broken.
func (s *Service) Update(ctx context.Context, w Who, u Update) (View, error) {
	got, err := s.Ledger.Update(ctx, w.Namespace, u.ID, u.Etag, w.Actor(), func(now *ledger.Session) error { return s.take(w, now, u) })
	if err != nil {
		return View{}, found(aSession, u.ID, err)
	}
	return s.View(ctx, w.Namespace, got)
}

func (s *Service) take(w Who, now *ledger.Session, u Update) error {
	bad, was := u.Fixed.differ(now), policy.Choice{Policy: now.Policy, Added: now.Added}
	for _, field := range u.Fields {
		switch field {
		case "goal":
			now.Items.Goal = u.Items.Goal
		case "why_now":
			now.Items.WhyNow = u.Items.WhyNow
		case "constraints":
			now.Items.Constraints = u.Items.Constraints
		case "plan_brief":
			now.Items.PlanBrief = u.Items.PlanBrief
		case "open_questions":
			now.Items.OpenQuestions = u.Items.OpenQuestions
		case "context_refs":
			if !slices.Equal(u.Refs, now.Thread.All()) { // Sent back as they were read, those of the agent stay the agent's.
				now.Thread.Refs, now.Thread.Found = u.Refs, nil
			}
		case "policy":
			now.Policy = u.Policy
		case "added_rules":
			now.Added = u.Added
		case "budgets":
			bad = append(bad, s.budgets(u.Budgets)...)
			now.Budgets = u.Budgets
		}
	}
	if slices.Contains(u.Fields, "policy") || slices.Contains(u.Fields, "added_rules") {
		bad = append(bad, s.choose(w, &was, policy.Choice{Policy: now.Policy, Added: now.Added})...)
	}
	if bad != nil {
		return &Violations{Wrong: bad}
	}
	return nil
}
