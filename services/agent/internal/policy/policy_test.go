package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// What nobody has thought of is refused: the zero value of everything that decides (S29).
func TestZeroValuesDeny(t *testing.T) {
	t.Parallel()
	var e Engine
	if x := e.Explain(call(tool.Read, "a.txt"), nil, noon); x.Verdict != Deny || x.Decided != -1 || x.Sentences("en")[1] != nothingKnown[0] {
		t.Errorf("an engine without policy says %+v", x)
	}
	var v Verdict
	var f Effect
	if v != Deny || v.String() != "DENY" || f.verdict() != Deny || Effect("Allow").verdict() != Deny || Verdict(9).String() != "DENY" || Risk(9).Known() {
		t.Error("a zero or unknown value allows")
	}
	v = Allow
	if err := v.UnmarshalText([]byte("permit")); err == nil || v != Deny {
		t.Errorf("an unknown word leaves the verdict at %s", v)
	}
	nobody := call(tool.Read, "a.txt")
	nobody.Tool.Origin.Kind = ""
	if got := verdict(engine(t, rule("all", EffectAllow, "*", "")), nobody); got != Deny {
		t.Errorf("a tool of nobody is %s", got)
	}
}

// Without rules, looking is allowed and everything else is asked about; a rule may relax that (field/agent.md C8).
func TestDefaults(t *testing.T) {
	t.Parallel()
	all := rule("all", EffectAllow, "*", "")
	for _, tt := range []struct {
		call    Call
		want    Verdict
		allowed Verdict // by a rule that allows all
	}{
		{call(tool.Read, "a.txt"), Allow, Allow}, {call(tool.List, "."), Allow, Allow}, {call(tool.Stat, "a.sh"), Allow, Allow}, {call(tool.Search, "."), Allow, Allow},
		{call(tool.SessionStatus), Allow, Allow}, {call(tool.NodeDetail), Allow, Allow},
		{call(tool.Write, "a.txt"), Ask, Allow}, {call(tool.Create, "a.txt"), Ask, Allow}, {call(tool.Delete, "a.txt"), Ask, Allow}, {call(tool.Move, "a.txt", "b.txt"), Ask, Allow},
		{call(tool.Exec), Ask, Ask}, // HIGH
		{foreign(tool.Annotations{ReadOnly: tool.Yes}), Ask, Allow}, {foreign(tool.Annotations{Destructive: tool.Yes}), Ask, Ask},
	} {
		if got := verdict(engine(t), tt.call); got != tt.want {
			t.Errorf("%s is %s without rules, want %s", tt.call.Tool.Full(), got, tt.want)
		}
		if got := verdict(engine(t, all), tt.call); got != tt.allowed {
			t.Errorf("%s is %s where all is allowed, want %s", tt.call.Tool.Full(), got, tt.allowed)
		}
	}
	p := Default()
	p.Rules, p.AllowHigh = []Rule{all}, true
	if got := verdict(engineOf(t, p), call(tool.Exec)); got != Allow {
		t.Errorf("exec is %s where HIGH is allowed", got)
	}
}

// Deny comes before ask, ask before allow, however narrow a rule is and wherever it stands.
func TestOrder(t *testing.T) {
	t.Parallel()
	narrow, wide := rule("narrow", EffectAllow, "write", "docs/a.txt"), rule("wide", EffectDeny, "*", "**")
	asks := rule("asks", EffectAsk, "write", "")
	c := call(tool.Write, "docs/a.txt")
	for _, rules := range [][]Rule{{narrow, asks, wide}, {wide, asks, narrow}, {asks, narrow, wide}} {
		x := engine(t, rules...).Explain(c, nil, noon)
		if x.Verdict != Deny || x.Looks[x.Decided].Rule != "wide" {
			t.Errorf("%+v", x)
		}
	}
	if x := engine(t, narrow, asks).Explain(c, nil, noon); x.Verdict != Ask || x.Looks[x.Decided].Rule != "asks" {
		t.Errorf("%+v", x)
	}
	if x := engine(t, narrow).Explain(c, nil, noon); x.Verdict != Allow {
		t.Errorf("%+v", x)
	}
}

// Paths end at a /, denying and asking rules stand for what lies below and for other spellings, allowing ones do not (C10: ./work
// and ./work_evil).
func TestPathPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, path  string
		allows, denies bool
	}{
		{"docs", "docs", true, true}, {"docs", "docs/a", false, true}, {"docs", "docs2", false, false}, {"docs", "docs2/a", false, false}, {"docs", "Docs/a", false, true}, {"docs", "x/docs", false, false},
		{"docs/**", "docs/a/b", true, true}, {"docs/**", "docs", true, true}, {"docs/**", "docs_evil/a", false, false}, {"docs/*", "docs/a", true, true}, {"docs/*", "docs/a/b", false, true}, {"docs/*", "docs", false, false},
		{"**/*.md", "a.md", true, true}, {"**/*.md", "x/y/a.md", true, true}, {"**/*.md", "a.mdx", false, false}, {"**/.git/**", ".git/config", true, true}, {"**/.git/**", "x/.GIT/config", false, true},
		{"**/.git/**", "x.git/config", false, false}, {"**", "a/b", true, true}, {"**", ".", true, true}, {"*", "a", true, true}, {"*", "a/b", false, true}, {"*", ".", false, false}, {"a*c", "abbc", true, true}, {"a*c", "abb", false, false},
		{"caf\u00e9", "cafe\u0301", true, true}, {"*a*b*a*b*", "aabbaabb", true, true}, {"a/**/b", "a/b", true, true}, {"a/**/b", "a/x/y/b", true, true}, {"a/**/b", "a/x/c", false, false},
	} {
		if got := matchPath(tt.pattern, tt.path, false); got != tt.allows {
			t.Errorf("allowing %s on %s fits: %t", tt.pattern, tt.path, got)
		}
		if got := matchPath(tt.pattern, tt.path, true); got != tt.denies {
			t.Errorf("denying %s on %s fits: %t", tt.pattern, tt.path, got)
		}
	}
	// Of two paths one is enough to deny, and both are needed to allow.
	move := call(tool.Move, "docs/a.txt", "other/a.txt")
	if got := verdict(engine(t, rule("x", EffectAllow, "", "docs/**")), move); got != Ask {
		t.Errorf("a move out of docs is %s", got)
	}
	if got := verdict(engine(t, rule("x", EffectDeny, "", "other/**")), move); got != Deny {
		t.Errorf("a move into other is %s", got)
	}
	if got := verdict(engine(t, rule("x", EffectAllow, "", "**")), foreign(tool.Annotations{})); got != Ask {
		t.Errorf("a call without paths is %s by a rule with a path", got)
	}
}

// Each condition of a rule can keep it from fitting, and the explanation names it.
func TestConditions(t *testing.T) {
	t.Parallel()
	c := call(tool.Write, "a.txt")
	for want, r := range map[Condition]Rule{
		OnTool: {Tool: "rea*"}, OnPath: {Path: "b.txt"}, OnAnnotations: {Annotations: tool.Annotations{ReadOnly: tool.Yes}}, OnRisk: {RiskAtLeast: High}, OnRole: {Role: RoleAdmin}, OnRoot: {Root: "other"},
		"": {Tool: "wri*", Path: "*.txt", Annotations: tool.Annotations{Destructive: tool.Yes, OpenWorld: tool.No}, RiskAtLeast: Medium, Role: RoleUser, Root: "work"},
	} {
		r.ID, r.Effect = "r", EffectDeny
		x := engine(t, r).Explain(c, nil, noon)
		i := slices.IndexFunc(x.Looks, func(l Look) bool { return l.Rule == "r" })
		if x.Looks[i].Misses != want || x.Looks[i].Fits != (want == "") || (x.Verdict == Deny) != (want == "") {
			t.Errorf("%+v: %+v", r, x)
		}
	}
	c.Facts.Measured = false
	if got := verdict(engine(t, Rule{ID: "r", Effect: EffectDeny, RiskAtLeast: High}), c); got != Deny {
		t.Errorf("a risk that is not known is %s by a rule for HIGH", got)
	}
	// A server cannot make a rule for harmless tools fit.
	if got := verdict(engine(t, Rule{ID: "r", Effect: EffectAllow, Annotations: tool.Annotations{ReadOnly: tool.Yes}}), foreign(tool.Annotations{ReadOnly: tool.Yes, Destructive: tool.No, OpenWorld: tool.No})); got != Ask {
		t.Errorf("a server that says it only reads is %s", got)
	}
}

// Kinds of files: by the last suffix, in any case; for what is written, not for what is read; the denied list wins, and what is in
// no list is asked about whatever rules say (field/agent.md C9, B8, B10).
func TestExtensions(t *testing.T) {
	t.Parallel()
	all := engine(t, rule("all", EffectAllow, "*", ""))
	for _, tt := range []struct {
		call Call
		want Verdict
	}{
		{call(tool.Write, "a.txt"), Allow}, {call(tool.Write, "A.TXT"), Allow}, {call(tool.Create, "a.sh"), Deny}, {call(tool.Write, "a.SH"), Deny}, {call(tool.Write, "a.txt.sh"), Deny}, {call(tool.Write, "a.sh.txt"), Allow},
		{call(tool.Write, "a.sh."), Deny}, {call(tool.Write, "a.sh . "), Deny}, {call(tool.Write, ".sh"), Deny}, {call(tool.Write, "d.sh/a.txt"), Allow}, {call(tool.Write, "Makefile"), Ask}, {call(tool.Write, "a.go"), Ask},
		{call(tool.Write, "a."), Ask}, {call(tool.Write, "d.txt/a"), Ask}, {call(tool.Move, "a.txt", "a.sh"), Deny}, {call(tool.Move, "a.sh", "a.txt"), Allow}, {call(tool.Move, "a.txt", "a.bin"), Ask},
		{call(tool.Read, "a.sh"), Allow}, {call(tool.Read, "a.exe"), Allow}, {call(tool.Delete, "a.exe"), Allow},
	} {
		if got := verdict(all, tt.call); got != tt.want {
			t.Errorf("%s %q is %s, want %s", tt.call.Tool.Name, tt.call.Paths, got, tt.want)
		}
	}
	if a := all.Assess(call(tool.Write, "a.go")); a.Level != Medium || !slices.ContainsFunc(a.Reasons, func(r Reason) bool { return r.Code == CodeUnknownExtension && r.Level == Medium }) {
		t.Errorf("a kind of file in no list has the risk %+v", a)
	}
	p := Default()
	p.Extensions = Extensions{Allow: []string{".sh"}, Deny: []string{".Sh"}}
	if got := verdict(engineOf(t, p), call(tool.Write, "a.sh")); got != Deny {
		t.Errorf("a suffix in both lists is %s", got)
	}
}

// An effect that a rule allows is asked about outside of EXECUTION; looking is not (C40). A call equal to one whose outcome nobody
// knows is asked about whatever rules say (C49).
func TestAllowBecomesAsk(t *testing.T) {
	t.Parallel()
	all := engine(t, rule("all", EffectAllow, "*", ""))
	for _, tt := range []struct {
		name string
		want Step
		do   func(*Call)
	}{
		{"elsewhere", StepElsewhere, func(c *Call) { c.InExecution = false }}, {"repeated", StepRepeated, func(c *Call) { c.LikeUnknown = true }},
		{"not measured", StepRisk, func(c *Call) { c.Facts.Measured = false }}, {"high", StepRisk, func(c *Call) { c.Facts.Unshown = true }},
	} {
		c := call(tool.Write, "a.txt")
		if got := verdict(all, c); got != Allow {
			t.Fatalf("%s", got)
		}
		tt.do(&c)
		if x := all.Explain(c, nil, noon); x.Verdict != Ask || x.Looks[x.Decided].Step != tt.want {
			t.Errorf("%s: %+v", tt.name, x)
		}
	}
	read := call(tool.Read, "a.txt")
	read.InExecution = false
	if got := verdict(all, read); got != Allow {
		t.Errorf("reading in PLANNING is %s", got)
	}
}

// Verdicts do not hang on the order of rules; a rule that asks or denies makes nothing looser; what the model says of the risk makes
// nothing looser; and the explanation says what the verdict is.
func TestVerdictProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t, "p")
		c := drawCall(t)
		x := engineOf(t, p).Explain(c, nil, noon)
		if x.Decided < 0 || !x.Looks[x.Decided].Fits || x.Looks[x.Decided].Verdict != x.Verdict {
			t.Fatalf("%+v", x)
		}
		turned := p
		turned.Rules = slices.Clone(p.Rules)
		slices.Reverse(turned.Rules)
		if got := verdict(engineOf(t, turned), c); got != x.Verdict {
			t.Fatalf("%s becomes %s where the rules stand in another order", x.Verdict, got)
		}
		added := drawRule(t, "session.added")
		if added.Effect == EffectAllow {
			added.Effect = EffectAsk
		}
		e := engineOf(t, p)
		e.added = []Rule{added}
		if got := verdict(e, c); got > x.Verdict {
			t.Fatalf("%s becomes %s by %+v", x.Verdict, got, added)
		}
	})
}

// An explanation is data that is stored and read again, and sentences in two languages without a gap.
func TestExplanation(t *testing.T) {
	t.Parallel()
	x := engine(t, Rule{ID: "no-secrets", Effect: EffectDeny, Path: "secret/**", Reason: "private\u202e"}, rule("docs", EffectAllow, "write", "docs/**")).Explain(call(tool.Write, "docs/a.go"), nil, noon)
	text, err := json.Marshal(x)
	must(t, err)
	var back Explanation
	must(t, json.Unmarshal(text, &back))
	if again, err := json.Marshal(back); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s became %s, %v", text, again, err)
	}
	want := []string{
		"The call of write needs a person's approval.", "No file of a kind that is never written.", "The rule no-secrets does not fit: it is for other paths.", "The rule docs allows it.",
		"Its risk is known, and not too high.", "Files of the kind of docs/a.go are in no list, so a person is asked. This decides.", "The session is in the step EXECUTION.",
		"Risk: medium.", "- it writes a file", "- docs/a.go is a file of a kind that is in no list",
	}
	if got := x.Sentences("en"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	x = engine(t, Rule{ID: "no-secrets", Effect: EffectDeny, Path: "secret/**", Reason: "private\u202e"}).Explain(call(tool.Read, "secret/a"), nil, noon)
	if got := x.Sentences("ja"); got[1] != `規則 no-secrets が拒否します。 理由: private\u{202E} これで決まります。` {
		t.Errorf("got %q", got)
	}
}

// Every step, condition and reason has a sentence in both languages.
func TestSentencesComplete(t *testing.T) {
	t.Parallel()
	codes := []Code{
		CodeLooks, CodeWrites, CodeCreates, CodeMoves, CodeDeletes, CodeExecutes, CodeOfClient, CodeOfServer, CodeNoOrigin, CodeSaysDestructive, CodeSaysOpenWorld, CodeManyFiles, CodeManyBytes, CodeSecret,
		CodeNotSearched, CodeNotMeasured, CodeNotShown, CodeInPages, CodeUnknownExtension, CodeModelSays,
	}
	var all [2][]string
	for i, locale := range []string{"en", "ja"} {
		for _, c := range codes {
			all[i] = append(all[i], Assessment{Reasons: []Reason{{Code: c, Level: High, What: "x", Where: "y", Number: 1, Limit: 2}}}.Sentences(locale)...)
		}
		for _, s := range []Step{StepTool, StepExtension, StepDeny, StepAsk, StepAllow, StepDefault, StepStanding, StepKind, StepRisk, StepRepeated, StepElsewhere} {
			all[i] = append(all[i], Look{Step: s, Fits: true, Rule: "r", What: "w"}.Sentence(locale))
		}
		for _, s := range []Step{StepExtension, StepStanding, StepKind, StepRisk, StepElsewhere} {
			all[i] = append(all[i], Look{Step: s, Rule: "r", What: "w"}.Sentence(locale))
		}
		for _, m := range []Condition{OnTool, OnPath, OnAnnotations, OnRisk, OnRole, OnRoot} {
			all[i] = append(all[i], Look{Step: StepDeny, Rule: "r", Misses: m}.Sentence(locale))
		}
	}
	for i := range all[0] {
		en, ja := all[0][i], all[1][i]
		if len(en) < 10 || len(ja) < 10 || en == ja || strings.Contains(en+ja, "%!") || strings.Contains(en+ja, "()") {
			t.Errorf("%q, %q", en, ja)
		}
	}
}

// A start tells everything that is wrong with the policies at once.
func TestNewSetProblems(t *testing.T) {
	t.Parallel()
	_, err := NewSet([]Policy{
		{Name: "a b"}, {Name: "p"},
		{
			Name: "p", Extensions: Extensions{Allow: []string{"txt", ".tar.gz"}, Deny: []string{"."}}, Thresholds: Thresholds{Files: -1, Bytes: -1}, Levels: Levels{MCP: Low},
			Secrets: []Shape{{Name: "x", Pattern: "("}, {Name: "", Pattern: "a", Literals: []string{"A"}}},
			Rules: []Rule{
				{ID: "r", Effect: "permit"}, {ID: "r"}, {Effect: EffectDeny, Path: "../x"}, {ID: "abs", Effect: EffectDeny, Path: "/etc"}, {ID: "wild", Effect: EffectDeny, Path: "a**/b"}, {ID: "back", Effect: EffectDeny, Path: `a\b`},
				{ID: "nfd", Effect: EffectDeny, Path: "cafe\u0301"}, {ID: "hidden", Effect: EffectDeny, Tool: "re\u200bad"}, {ID: "role", Effect: EffectAsk, Role: "root"}, {ID: "risky", Effect: EffectAllow, RiskAtLeast: High},
				{ID: "hint", Effect: EffectDeny, Annotations: tool.Annotations{ReadOnly: "maybe"}}, {ID: "long", Effect: EffectDeny, Reason: strings.Repeat("a", MaxReason+1)},
			},
		},
	}, "none")
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`policy "a b": its name`, `policy "p": the name stands twice`, `extensions.allow: "txt"`, `extensions.allow: ".tar.gz"`, `extensions.deny: "."`, "thresholds.files is -1", "thresholds.bytes is -1", "levels.mcp is LOW",
		`secrets[0] "x": the pattern`, "secrets[1]: its name", `secrets[1] "": literals`, `effect is "permit"`, `rules[1] "r": the id stands twice`, `rules[1] "r": effect is ""`, `rules[2] "": its id`, `rules[2] "": path must be relative`,
		`"abs": path must be relative`, `"wild": path must be relative`, `"back": path may have neither`, `"nfd": path must be in the composed form`, `"hidden": tool must be`, `"role": role is "root"`, `"risky": an allowing rule has no risk_at_least`,
		`"hint": an annotation is "maybe"`, `"long": reason has 1001 bytes`, `the policy "none"`,
	} {
		if n := len(slices.DeleteFunc(slices.Clone(e.Problems), func(p string) bool { return !strings.Contains(p, want) })); n != 1 {
			t.Errorf("%q is told %d times in\n%v", want, n, e)
		}
	}
	if len(e.Problems) != 26 {
		t.Errorf("%d problems:\n%v", len(e.Problems), e)
	}
}
