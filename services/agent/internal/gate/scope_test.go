package gate

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// Whoever sends a scope, a path or a content digest that does not fit is told which of them, and what would.
func TestWhatDoesNotFitIsNamed(t *testing.T) {
	t.Parallel()
	m := one(t, write(t, "a1", "docs/a.md", "new\n"))
	for name, tt := range map[string]struct {
		change     func(r *Request)
		field, why string
	}{
		"no path":              {func(r *Request) { r.Scope = policy.SessionToolPath }, "path", `path must be "docs/a.md" or "docs", as it was offered`},
		"a wider path":         {func(r *Request) { r.Scope, r.Path = policy.SessionToolPath, "." }, "path", `path must be "docs/a.md" or "docs", as it was offered`},
		"a path without scope": {func(r *Request) { r.Path = "docs" }, "path", "path goes with DECISION_SCOPE_SESSION_TOOL_PATH"},
		"a path for equal calls": {func(r *Request) { r.Scope, r.Path = policy.SessionExact, "docs" }, "path",
			"path goes with DECISION_SCOPE_SESSION_TOOL_PATH"},
		"an unknown scope": {func(r *Request) { r.Scope = "ALWAYS" }, "", `the scope ALWAYS is not one that approval "a1" offers: approve it for this call alone`},
		"one page": {func(r *Request) { r.ContentDigest = canon.Sum(nil) }, "content_digest",
			"the content digest is not that of what is shown; leave it out: this one has one page"},
	} {
		r := yes(m.Approval, bob)
		r.Rule = "r1"
		tt.change(&r)
		if no := Decide(m.Approval, m.Content, r, DefaultTerms()).Refused; no == nil || no.Field != tt.field || no.Why != tt.why {
			t.Errorf("%s: %+v", name, no)
		}
	}
}
