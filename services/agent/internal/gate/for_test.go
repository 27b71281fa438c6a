package gate

import "testing"

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
