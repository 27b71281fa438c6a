package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

func stand(t testing.TB, c Call, o Offer) Standing {
	t.Helper()
	if o.ID == "" {
		o.ID, o.Approver = "st1", "alice"
	}
	s, err := Stand(c, engine(t).Assess(c), o, noon)
	must(t, err)
	return s
}

// What a person allowed for the session holds for just that, word for word as it was shown (field/review-agent.md S8).
func TestStanding(t *testing.T) {
	t.Parallel()
	base := call(tool.Write, "src/a.txt")
	exact, path := stand(t, base, Offer{Scope: SessionExact}), stand(t, base, Offer{Scope: SessionToolPath, Path: "src"})
	e := engine(t)
	for _, tt := range []struct {
		name        string
		change      func(*Call)
		exact, path Verdict
	}{
		{"the same", func(*Call) {}, Allow, Allow},
		{"other arguments", func(c *Call) { c.Hash = hashA }, Ask, Allow},
		{"another file below", func(c *Call) { c.Hash, c.Paths, c.Writes = hashA, []string{"src/x/b.txt"}, []string{"src/x/b.txt"} }, Ask, Allow},
		{"a file beside", func(c *Call) { c.Hash, c.Paths, c.Writes = hashA, []string{"src2/b.txt"}, []string{"src2/b.txt"} }, Ask, Ask},
		{"a name in other case", func(c *Call) { c.Hash, c.Paths, c.Writes = hashA, []string{"SRC/b.txt"}, []string{"SRC/b.txt"} }, Ask, Ask},
		{"no path", func(c *Call) { c.Hash, c.Paths, c.Writes = hashA, nil, nil }, Ask, Ask},
		{"another tool", func(c *Call) { c.Tool = call(tool.Create, "x").Tool }, Ask, Ask},
		{"the tool has changed", func(c *Call) { c.Definition = hashB }, Ask, Ask},
		{"another session", func(c *Call) { c.Session = "s2" }, Ask, Ask},
		{"another namespace", func(c *Call) { c.Namespace = "n2" }, Ask, Ask},
		{"another folder", func(c *Call) { c.Root = "other"; c.Hash = hashA }, Ask, Ask},
		{"a high risk", func(c *Call) { c.Facts.Unshown = true }, Ask, Ask},
		{"a risk that is not known", func(c *Call) { c.Facts.Measured = false }, Ask, Ask},
		{"outside of EXECUTION", func(c *Call) { c.InExecution = false }, Ask, Ask},
		{"like one of unknown outcome", func(c *Call) { c.LikeUnknown = true }, Ask, Ask},
		{"a kind of file in no list", func(c *Call) { c.Writes = []string{"src/a.go"} }, Ask, Ask},
		{"a kind of file that is never written", func(c *Call) { c.Writes = []string{"src/a.sh"} }, Deny, Deny},
	} {
		c := base
		tt.change(&c)
		for s, want := range map[*Standing]Verdict{&exact: tt.exact, &path: tt.path} {
			x := e.Explain(c, []Standing{*s}, noon.Add(time.Hour))
			if x.Verdict != want || (x.Standing == s.ID) != (want == Allow) {
				t.Errorf("%s, %s: %s by %q, want %s", tt.name, s.Scope, x.Verdict, x.Standing, want)
			}
		}
	}
	denied := engine(t, rule("no", EffectDeny, "write", "src/**"))
	if got := verdict(denied, base, path); got != Deny {
		t.Errorf("a rule that denies is overruled: %s", got)
	}
	if got := verdict(engine(t, rule("ask", EffectAsk, "write", "")), base, path); got != Allow {
		t.Errorf("a rule that asks is not relaxed: %s", got)
	}
	for at, want := range map[time.Time]Verdict{noon: Allow, noon.Add(StandingLife - 1): Allow, noon.Add(StandingLife): Ask, noon.Add(-1): Ask} {
		if got := e.Explain(base, []Standing{path}, at).Verdict; got != want {
			t.Errorf("at %s it is %s, want %s", at, got, want)
		}
	}
	if got := path.Text("en"); got != `Until this session ends, at the latest 2026-01-03 12:00 UTC, every call of write on "src" and what lies below it is made without asking again.` {
		t.Errorf("got %s", got)
	}
	if ja, en := exact.Text("ja"), exact.Text("en"); !strings.Contains(ja, "同じ引数での write") || !strings.Contains(en, "the same call of write") {
		t.Errorf("%s %s", ja, en)
	}
	if got := e.Explain(base, []Standing{{}, {ID: "forged", Namespace: "default", Session: "s", Tool: "write", Definition: hashA, Scope: SessionToolPath, Root: "work", Created: noon, Expires: noon.Add(time.Hour)}}, noon); got.Verdict != Ask {
		t.Errorf("an empty rule allows: %+v", got)
	}
}

// Some calls are allowed one at a time, whoever asks (S8, S23).
func TestNeverStanding(t *testing.T) {
	t.Parallel()
	write := call(tool.Write, "src/a.txt")
	for name, tt := range map[string]struct {
		call  Call
		offer Offer
		want  error
	}{
		"delete": {call(tool.Delete, "src/a.txt"), Offer{}, ErrNeverStands}, "move": {call(tool.Move, "src/a.txt", "src/b.txt"), Offer{}, ErrNeverStands}, "exec": {call(tool.Exec, "src"), Offer{}, ErrNeverStands},
		"open world": {foreign(tool.Annotations{OpenWorld: tool.Yes}), Offer{}, ErrNeverStands}, "a server that does not say": {foreign(tool.Annotations{}), Offer{}, ErrNeverStands},
		"high": {func() Call { c := write; c.Facts.Bytes = 1 << 30; return c }(), Offer{}, ErrNeverStands}, "not known": {func() Call { c := write; c.Facts.Measured = false; return c }(), Offer{}, ErrNeverStands},
		"words": {write, Offer{ByWords: true}, ErrByWords}, "once": {write, Offer{Scope: Once}, ErrScope}, "no scope": {write, Offer{Scope: "ALWAYS"}, ErrScope}, "no path": {write, Offer{Scope: SessionToolPath}, ErrScope},
		"a path that is not the call's": {write, Offer{Scope: SessionToolPath, Path: "docs"}, ErrScope}, "part of a name": {write, Offer{Scope: SessionToolPath, Path: "sr"}, ErrScope},
		"no approver": {write, Offer{ID: "x"}, ErrUnbound}, "no definition": {func() Call { c := write; c.Definition = ""; return c }(), Offer{}, ErrUnbound},
	} {
		if tt.offer.Scope == "" {
			tt.offer.Scope = SessionExact
		}
		if tt.offer.ID == "" {
			tt.offer.ID, tt.offer.Approver = "st1", "alice"
		}
		if s, err := Stand(tt.call, engine(t).Assess(tt.call), tt.offer, noon); !errors.Is(err, tt.want) || s != (Standing{}) {
			t.Errorf("%s: %+v, %v, want %v", name, s, err, tt.want)
		}
	}
	// Shown in pages: not offered, even where the risk were lower.
	paged := write
	paged.Facts.Diff = strings.Repeat("a", canon.PageBytes+1)
	if _, err := Stand(paged, Assessment{Level: Medium}, Offer{ID: "x", Approver: "a", Scope: SessionExact}, noon); !errors.Is(err, ErrNotShown) {
		t.Errorf("got %v", err)
	}
}

// Standing rules turn ASK into ALLOW and do nothing else, whatever they hold.
func TestStandingProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, c := engineOf(t, drawPolicy(t, "p")), drawCall(t)
		s := Standing{
			ID: "x", Namespace: "default", Session: "s", Scope: rapid.SampledFrom([]Scope{Once, SessionExact, SessionToolPath}).Draw(t, "scope"), Tool: c.Tool.Full(), Definition: hashA, Call: hashB, Root: "work",
			Path: rapid.SampledFrom([]string{".", "docs", "src", ""}).Draw(t, "path"), Created: noon, Expires: noon.Add(time.Hour),
		}
		without, with := e.Explain(c, nil, noon), e.Explain(c, []Standing{s}, noon)
		switch {
		case with.Verdict == without.Verdict:
		case without.Verdict != Ask || with.Verdict != Allow:
			t.Fatalf("%s becomes %s", without.Verdict, with.Verdict)
		case c.builtIn(tool.Delete, tool.Move, tool.Exec) || c.openWorld() || !with.Risk.Level.Known() || with.Risk.Level == High:
			t.Fatalf("%+v stands for %+v", s, c)
		}
	})
}

var (
	person = Caller{Person: true, Roles: []string{RoleUser}}
	admin  = Caller{Person: true, Roles: []string{RoleAdmin}}
)

// A caller may make the policy of a session stricter; what makes it looser needs an admin, and a person (S9).
func TestChoose(t *testing.T) {
	t.Parallel()
	strict := Default()
	strict.Name, strict.Rules = "strict", []Rule{rule("no", EffectDeny, "delete", "")}
	free := Default()
	free.Name, free.Rules = "free", []Rule{rule("all", EffectAllow, "*", "")}
	locked := Default()
	locked.Name, locked.Pickable = "locked", false
	s, err := NewSet([]Policy{Default(), strict, free, locked}, "default")
	must(t, err)
	ask, deny := rule("session.a", EffectAsk, "read", ""), rule("session.d", EffectDeny, "write", "")
	for _, tt := range []struct {
		name string
		who  Caller
		now  *Choice
		want Choice
		bad  string
	}{
		{"nobody", Caller{}, nil, Choice{}, "only a person"}, {"the model with all roles", Caller{Roles: []string{RoleAdmin}}, nil, Choice{Policy: "strict"}, "only a person"},
		{"the default", person, nil, Choice{}, ""}, {"one that may be picked", person, nil, Choice{Policy: "free"}, ""}, {"one that may not", person, nil, Choice{Policy: "locked"}, "by an admin only"}, {"by an admin", admin, nil, Choice{Policy: "locked"}, ""},
		{"one that is not there", admin, nil, Choice{Policy: "x"}, `there is no policy "x"; there are default, free, locked, strict`}, {"with more rules", person, nil, Choice{Added: []Rule{ask, deny}}, ""},
		{"with a rule that allows", admin, nil, Choice{Added: []Rule{rule("session.x", EffectAllow, "*", "")}}, "must be ASK or DENY"}, {"with the id of another", person, nil, Choice{Added: []Rule{rule("no", EffectDeny, "", "")}}, "must be session. and a name of your own"},
		{"stricter later", person, &Choice{}, Choice{Policy: "strict"}, ""}, {"looser later", person, &Choice{Policy: "strict"}, Choice{}, `the policy "default" is not stricter than "strict" in everything: it does not deny what rule "no" denies; an admin`}, {"looser later by an admin", admin, &Choice{Policy: "strict"}, Choice{}, ""},
		{"free later", person, &Choice{}, Choice{Policy: "free"}, `its rule "all" allows`}, {"the same by its name", person, &Choice{}, Choice{Policy: "default", Added: []Rule{ask}}, ""},
		{"one more rule", person, &Choice{Added: []Rule{ask}}, Choice{Added: []Rule{ask, deny}}, ""}, {"one rule less", person, &Choice{Added: []Rule{ask, deny}}, Choice{Added: []Rule{ask}}, `"session.d" may be taken away`},
		{"a rule made milder", person, &Choice{Added: []Rule{deny}}, Choice{Added: []Rule{{ID: "session.d", Effect: EffectAsk, Tool: "write"}}}, `"session.d" may be changed by an admin only`},
		{"one rule less by an admin", admin, &Choice{Added: []Rule{deny}}, Choice{}, ""}, {"from one that is gone", person, &Choice{Policy: "gone"}, Choice{Policy: "strict"}, `the policy "gone", which the session has, is not configured any more, so that none can be shown to be stricter; a policy of that name in the configuration repairs`},
		{"stays where only an admin could go", person, &Choice{Policy: "locked"}, Choice{Policy: "locked", Added: []Rule{ask}}, ""},
	} {
		err := s.Choose(tt.who, tt.now, tt.want)
		if (err == nil) != (tt.bad == "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.bad)
		}
	}
	e, err := s.Engine(Choice{Policy: "free", Added: []Rule{deny}})
	must(t, err)
	if got := verdict(e, call(tool.Write, "a.txt")); got != Deny {
		t.Errorf("an added rule is not heard: %s", got)
	}
	if _, err := s.Engine(Choice{Added: []Rule{rule("session.x", EffectAllow, "*", "")}}); err == nil {
		t.Error("a stored rule that allows is used")
	}
	faults := CheckAdded([]Rule{{}, {ID: "mine", Effect: EffectAllow}, rule("session.x", EffectAsk, "", "")})
	var told []string
	for _, f := range faults {
		told = append(told, fmt.Sprint(f.Index, " ", f.Field))
	}
	if want := []string{"0 effect", "0 id", "1 effect", "1 id"}; !slices.Equal(told, want) {
		t.Errorf("each fault is told once, at its field: %+v", faults)
	}
	// All that stands against it is told at once.
	var all *Error
	if err := s.Choose(Caller{}, nil, Choice{Policy: "x", Added: []Rule{{}}}); !errors.As(err, &all) || len(all.Problems) < 4 {
		t.Errorf("got %v", err)
	}
}

// A policy that is looser in anything is not stricter.
func TestStricter(t *testing.T) {
	t.Parallel()
	base := Default()
	base.Rules = []Rule{rule("d", EffectDeny, "delete", ""), rule("k", EffectAsk, "read", ""), rule("a", EffectAllow, "write", "")}
	base.Levels.Write, base.Secrets = Medium, []Shape{{Name: "x", Pattern: "y"}}
	base = base.withDefaults()
	for name, tt := range map[string]struct {
		change func(*Policy)
		want   bool
	}{
		"the same": {func(*Policy) {}, true}, "other ids and reasons": {func(p *Policy) { p.Rules[0].ID, p.Rules[0].Reason = "e", "f" }, true},
		"one more denies": {func(p *Policy) { p.Rules = append(p.Rules, rule("n", EffectDeny, "", "x")) }, true}, "asking becomes denying": {func(p *Policy) { p.Rules[1].Effect = EffectDeny }, true}, "no rule that allows": {func(p *Policy) { p.Rules = p.Rules[:2] }, true},
		"denying becomes asking": {func(p *Policy) { p.Rules[0].Effect = EffectAsk }, false}, "none denies": {func(p *Policy) { p.Rules = p.Rules[1:] }, false}, "none asks": {func(p *Policy) { p.Rules = []Rule{p.Rules[0], p.Rules[2]} }, false},
		"one more allows": {func(p *Policy) { p.Rules = append(p.Rules, rule("n", EffectAllow, "", "x")) }, false}, "a denying rule made narrower": {func(p *Policy) { p.Rules[0].Path = "x" }, false},
		"fewer kinds": {func(p *Policy) { p.Extensions.Allow = []string{".TXT"} }, true}, "one more kind": {func(p *Policy) { p.Extensions.Allow = append(slices.Clone(p.Extensions.Allow), ".go") }, false}, "one kind fewer denied": {func(p *Policy) { p.Extensions.Deny = p.Extensions.Deny[1:] }, false},
		"a higher level": {func(p *Policy) { p.Levels.Write = High }, true}, "a lower level": {func(p *Policy) { p.Levels.Write = Low }, false}, "fewer files": {func(p *Policy) { p.Thresholds.Files-- }, true}, "more files": {func(p *Policy) { p.Thresholds.Files++ }, false},
		"more bytes": {func(p *Policy) { p.Thresholds.Bytes++ }, false}, "high is allowed": {func(p *Policy) { p.AllowHigh = true }, false},
		"the plan is asked about": {func(p *Policy) { p.AskPlan = true }, true}, "the result is asked about": {func(p *Policy) { p.AskResult = true }, true}, "no shapes": {func(p *Policy) { p.Secrets = nil }, false},
	} {
		p := base.withDefaults() // A copy.
		tt.change(&p)
		if why := looser(p, base); (why == nil) != tt.want {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A policy that asks about less is not stricter, and where there is none a person is asked.
func TestStricterAsks(t *testing.T) {
	t.Parallel()
	for _, ask := range []func(*Policy){func(p *Policy) { p.AskPlan = true }, func(p *Policy) { p.AskResult = true }} {
		asks := Default()
		ask(&asks)
		if looser(Default(), asks) == nil {
			t.Errorf("%+v is not kept", asks)
		}
	}
	if e := (*Engine)(nil); !e.AsksPlan() || !e.AsksResult() {
		t.Error("without a policy nobody is asked")
	}
}

// What is called stricter allows nothing that the other does not.
func TestStricterProperty(t *testing.T) {
	t.Parallel()
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		b := drawPolicy(t, "b")
		a := drawPolicy(t, "a")
		if rapid.Bool().Draw(t, "near") { // Two policies drawn apart are hardly ever comparable.
			a = b
			a.Name, a.Rules = "a", slices.Clone(b.Rules)
			if added := drawRule(t, "more"); rapid.Bool().Draw(t, "one more") {
				a.Rules = append(a.Rules, added)
			}
			if len(a.Rules) > 0 && rapid.Bool().Draw(t, "one less") {
				a.Rules = a.Rules[1:]
			}
			if rapid.Bool().Draw(t, "other levels") {
				a.Levels.Write, a.AllowHigh = High, rapid.Bool().Draw(t, "high")
			}
		}
		ea, eb := engineOf(t, a), engineOf(t, b)
		if looser(ea.policy, eb.policy) != nil {
			return
		}
		seen++
		c := drawCall(t)
		if va, vb := verdict(ea, c), verdict(eb, c); va > vb {
			t.Fatalf("%s by %+v, %s by %+v", va, a, vb, b)
		}
	})
	if seen == 0 {
		t.Error("no two policies were compared")
	}
}
