package approval

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/agenttest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// desk is a running Tsumugi, and a person at a terminal.
type desk struct{ *agenttest.Desk }

func newDesk(t *testing.T) desk { t.Helper(); return desk{agenttest.Start(t)} }

// person are the options of an approver about an approval, who types something, and what they see.
func (d desk) person(name, typed string) (Options, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return Options{Addr: d.Addr, Token: d.Approver, Name: name, In: strings.NewReader(typed), Out: out, Err: out, Person: true}, out
}

func (d desk) has(text string, all ...string) {
	d.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			d.Errorf("no %q in\n%s", want, text)
		}
	}
}

// notes is what stands in the file that the model wants to write; empty: it is not there.
func (d desk) notes() string {
	text, err := os.ReadFile(d.Path(agenttest.Work + "/notes.txt"))
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	return string(text)
}

// What a person sees says whose words it is, and has the whole diff; y alone approves, and then the call is made.
func TestApprove(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	session := d.Session("notes")
	name := d.Asked(session)
	yes := Answer{Decision: agentv1.Decision_DECISION_APPROVE}
	for _, typed := range []string{"", "n\n", "\n", "yess\n"} {
		o, out := d.person(name, typed)
		if err := Decide(t.Context(), o, yes); err != nil {
			t.Fatal(err)
		}
		d.has(out.String(), "1 intent (the model's words): Here it is.", "2 rationale (the model's words): It was asked for.", "3 impact (computed):", "4 diff (computed): lines added: 1",
			"risk (computed): MEDIUM", "--scope path: notes.txt", "+++ b/notes.txt\n@@ -0,0 +1 @@\n+make build\n", "APPROVE? [y/N] ", "Nothing was decided.\n")
	}
	if d.notes() != "" {
		t.Error("it was written")
	}
	o, out := d.person(name[len(name)-12:], "y\n")
	if err := Decide(t.Context(), o, yes); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), name+" is APPROVED.\n")
	if s := d.Rests(session); s.GetStep() != agentv1.Step_STEP_DONE || d.notes() != "make build\n" {
		t.Errorf("%s, %q", s.GetStep(), d.notes())
	}
	o, _ = d.person(name, "")
	if err := Decide(t.Context(), o, Answer{Decision: agentv1.Decision_DECISION_DENY}); err == nil {
		t.Error("what was carried out is denied")
	}
}

// Without a terminal nobody is asked: the digest of what was looked at decides, and no other; and whoever is no approver is told so.
func TestWithoutATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	session := d.Session("notes")
	name := d.Asked(session)
	o, out := d.person(name, "y\n")
	o.Person = false
	for want, a := range map[string]Answer{
		"nobody is asked, since this is no terminal": {},
		"not the one that you have looked at":        {Digest: strings.Repeat("0", 64)},
		`--scope is "ever"; it must be one of exact`: {Scope: "ever", Yes: true},
	} {
		a.Decision = agentv1.Decision_DECISION_APPROVE
		if err := Decide(t.Context(), o, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	user := o
	user.Token = ""
	if err := Decide(t.Context(), user, Answer{Decision: agentv1.Decision_DECISION_APPROVE, Yes: true}); err == nil || !strings.Contains(err.Error(), "is not yours to decide") {
		t.Errorf("a user: %v", err)
	}
	out.Reset()
	if err := Show(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	_, digest, _ := strings.Cut(out.String(), "\ndigest: ")
	a := Answer{Decision: agentv1.Decision_DECISION_APPROVE, Digest: digest[:64], Scope: "exact", Reason: "fine"}
	if err := Decide(t.Context(), o, a); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), "is APPROVED, and for the rest of the session by the rule ")
	d.Rests(session)
	out.Reset()
	if err := Show(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), "decided: APPROVE by local at ", ": fine\n")
}

// An edit has another approval take the place of one; it can be given more time; a denial tells the model why.
func TestEditExtendDeny(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	session := d.Session("notes")
	name := d.Asked(session)
	o, out := d.person(name, "")
	for _, wrong := range []string{"", "{", `{"path": "../x", "content": ""}`} {
		if err := Edit(t.Context(), o, strings.NewReader(wrong), ""); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	if err := Edit(t.Context(), o, strings.NewReader(`{"path": "notes.txt", "content": "make install\n"}`), "it installs"); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), name+" is closed, and approves nothing; this one is to be decided:", "arguments changed by: local", "took the place of: "+name, "\nlook and decide: tsumugi approval approve ")
	waits := d.Rests(session).GetWaitingOn()
	o, out = d.person(waits[0], "")
	if err := Extend(t.Context(), o, -time.Minute); err == nil {
		t.Error("time is taken away")
	}
	before := out.Len()
	if err := Extend(t.Context(), o, 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	d.has(out.String()[before:], " waits until ")
	if err := Decide(t.Context(), o, Answer{Decision: agentv1.Decision_DECISION_DENY, Reason: "not now"}); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), "+make install\n", " is DENIED.\n")
	if d.notes() != "" {
		t.Error("it was written")
	}
	if err := Outcome(t.Context(), o, "perhaps", Answer{}); err == nil || !strings.Contains(err.Error(), "happened or not-happened") {
		t.Error(err)
	}
	if err := Outcome(t.Context(), o, "happened", Answer{Yes: true}); err == nil {
		t.Error("a call that was not made has an outcome")
	}
}

// The scope path is that of the path which was offered, typed as it is shown, and no other.
func TestScopePath(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Asked(d.Session("notes"))
	o, out := d.person(name, "")
	a := Answer{Decision: agentv1.Decision_DECISION_APPROVE, Yes: true, Scope: "path", Path: "other.txt"}
	if err := Decide(t.Context(), o, a); err == nil || !strings.Contains(err.Error(), `path must be "notes.txt", as it was offered`) {
		t.Error(err)
	}
	a.Path = ""
	if err := Decide(t.Context(), o, a); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), "may be allowed further, --scope path: notes.txt.", "is APPROVED, and for the rest of the session by the rule ")
	seen, err := d.Agent.GetApproval(t.Context(), &agentv1.GetApprovalRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.GetDecision().GetScope(); got != agentv1.DecisionScope_DECISION_SCOPE_SESSION_TOOL_PATH {
		t.Errorf("%s", got)
	}
}

// What would have one text look like another is seen where it stands: in the arguments as in the diff.
func TestHidden(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	session := d.Session("notes")
	o, _ := d.person(d.Asked(session), "")
	if err := Edit(t.Context(), o, strings.NewReader(`{"path": "notes.txt", "content": "夜\u202e\u200bx\n"}`), ""); err != nil {
		t.Fatal(err)
	}
	o, out := d.person(d.Rests(session).GetWaitingOn()[0], "")
	if err := Show(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	d.has(out.String(), `"content":"夜\u{202E}\u{200B}x\n"`, "\n+夜\\u{202E}\\u{200B}x\n")
	if strings.ContainsAny(out.String(), "\u202e\u200b") {
		t.Errorf("%q", out)
	}
}

// The inbox has what waits, of all sessions or of one, and with --all what was decided.
func TestList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, other := d.Session("one"), d.Session("other")
	asked := d.Asked(one)
	o, out := d.person(asked, "")
	list := func(f Filter) string {
		out.Reset()
		if err := List(t.Context(), o, f); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := list(Filter{Most: 10}); strings.Count(got, "\n") != 2 || !strings.Contains(got, asked+"  PENDING  TOOL_CALL  write  MEDIUM  2") || !strings.Contains(got, "  notes.txt\n") {
		t.Errorf("%s", got)
	}
	if got := list(Filter{Most: 10, Session: other}); strings.Contains(got, asked) {
		t.Errorf("%s", got)
	}
	if err := Decide(t.Context(), o, Answer{Decision: agentv1.Decision_DECISION_DENY}); err != nil {
		t.Fatal(err)
	}
	if got := list(Filter{Most: 10, Session: one, All: true}); !strings.Contains(got, asked+"  DENIED") {
		t.Errorf("%s", got)
	}
	if err := List(t.Context(), o, Filter{}); err == nil || err.Error() != "--approvals is 0; it must be 1 to 10000" {
		t.Error(err)
	}
}

// What is longer than a page is shown whole, and approved with the proof that all pages were read.
func TestSeveralPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	session := d.Session("notes")
	o, _ := d.person(d.Asked(session), "")
	long := strings.Repeat("make 港\n", 50_000) // 500 kB
	if err := Edit(t.Context(), o, strings.NewReader(`{"path": "notes.txt", "content": "`+strings.ReplaceAll(long, "\n", `\n`)+`"}`), ""); err != nil {
		t.Fatal(err)
	}
	o, out := d.person(d.Rests(session).GetWaitingOn()[0], "y\n")
	if err := Decide(t.Context(), o, Answer{Decision: agentv1.Decision_DECISION_APPROVE}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n+make 港"); n != 50_000 {
		t.Errorf("%d lines were shown", n)
	}
	d.Rests(session)
	if d.notes() != long {
		t.Error("it was not written")
	}
}
