package gate

import (
	"cmp"
	"slices"
	"testing"
)

// TestFor: an approver reads all, who asked or made the session reads no hash, and others do not know that there is an approval.
func TestFor(t *testing.T) {
	t.Parallel()
	a := one(t, write(t, "a1", "docs/a.md", "new\n")).Approval
	a.Owner = "oz"
	reader := func(name, namespace, session string, roles ...string) Who {
		return Who{Name: name, Namespace: namespace, Session: session, Roles: roles}
	}
	for name, tt := range map[string]struct {
		who       Who
		all, some bool
	}{
		"approver":              {bob, true, true},
		"requester":             {reader(a.Requester, a.Namespace, ""), false, true},
		"owner":                 {reader("oz", a.Namespace, ""), false, true},
		"another":               {reader("carl", a.Namespace, ""), false, false},
		"another namespace":     {reader("oz", "elsewhere", "", bob.Roles...), false, false},
		"token of its session":  {reader("", a.Namespace, a.Session, bob.Roles...), false, true},
		"token of another one":  {reader("", a.Namespace, "s9", bob.Roles...), false, false},
		"nobody, with the role": {reader("", a.Namespace, "", bob.Roles...), false, false},
	} {
		got, ok := a.For(tt.who)
		if ok != tt.some || tt.all != (got.Digest != "") || ok && !tt.all && (got.Subject.CallHash != "" || got.Subject.Targets[0].After != "") {
			t.Errorf("%s: %v, %+v", name, ok, got)
		}
	}
}

// newest are approvals in the order of a list; waitingOn are those that wait, by id, in the order in which they were made.
func newest(all []Approval) []Approval {
	return slices.SortedStableFunc(slices.Values(all), func(a, b Approval) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
}

func waitingOn(all []Approval) (ids []string) {
	waiting := slices.DeleteFunc(slices.Clone(all), func(a Approval) bool { return a.State != Pending })
	slices.SortFunc(waiting, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
	for _, a := range waiting {
		ids = append(ids, a.ID)
	}
	return ids
}
