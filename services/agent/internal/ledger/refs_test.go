package ledger

import (
	"errors"
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// TestReferencesThatWereTakenAreTakenAgain: a session whose references would be refused today, those of the agent among them, can be changed in other
// things, and all of them or some can be sent back; a new one beside them is judged.
func TestReferencesThatWereTakenAreTakenAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	had := session.Thread{Refs: []string{"web:x", "file:a.md", "web:x"}, Found: []string{"file:/skills/../b.md", "conversation:7"}}
	all := had.All()
	for what, tt := range map[string]struct {
		change func(*Session)
		wrong  []string
	}{
		"nothing of them": {change: func(s *Session) { s.Items.Goal = "海の話を書く" }},
		"all of them":     {change: func(s *Session) { s.Thread = session.Thread{Refs: all} }},
		"some of them":    {change: func(s *Session) { s.Thread = session.Thread{Refs: all[1:]} }},
		"none of them":    {change: func(s *Session) { s.Thread = session.Thread{} }},
		"new ones": {
			change: func(s *Session) {
				s.Thread = session.Thread{Refs: append(slices.Clone(all[1:]), "web:y", "file:b.md", "file:a.md")}
			},
			wrong: []string{"context_refs[4]", "context_refs[6]"},
		},
	} {
		if _, err := r.Change(t.Context(), ns, "s", ann, func(w *Work) error {
			w.Session.Thread = had
			w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "as it was", ArgsDigest: hash("")})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		_, err := r.Update(t.Context(), ns, "s", "", ann, func(s *Session) error { tt.change(s); return nil })
		var refused *FieldsError
		var wrong []string
		if errors.As(err, &refused) {
			for _, v := range refused.Wrong {
				wrong = append(wrong, v.Field)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(wrong, tt.wrong) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestItemsThatWereTakenStay: an item that would be refused today stands in no other change's way; changed, it is judged.
func TestItemsThatWereTakenStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	if _, err := r.Change(t.Context(), ns, "s", ann, func(w *Work) error {
		w.Session.Items.Goal, w.Session.Items.PlanBrief = "港\u2028海", []string{"\u00ad"}
		w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "as it was", ArgsDigest: hash("")})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Update(t.Context(), ns, "s", "", ann, func(s *Session) error { s.Items.WhyNow = "今"; return nil }); err != nil {
		t.Error(err)
	}
	_, err := r.Update(t.Context(), ns, "s", "", ann, func(s *Session) error { s.Items.PlanBrief = []string{"書く", "\u00ad"}; return nil })
	var refused *FieldsError
	if !errors.As(err, &refused) || len(refused.Wrong) != 1 || refused.Wrong[0].Field != "plan_brief[1]" {
		t.Errorf("error %v", err)
	}
}
