package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

func intent(t *tool.Tool) router.Intent { return router.Intent{Tool: t.Full(), Definition: t.Hash} }

// each runs a test with every kind of connection, and with old and new versions of the protocol.
func each(t *testing.T, test func(t *testing.T, c Config)) {
	t.Helper()
	t.Run("program", func(t *testing.T) { t.Parallel(); test(t, program(t, "real")) })
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		c, _ := overWeb(t)
		test(t, c)
	})
	t.Run("old http", func(t *testing.T) {
		t.Parallel()
		c, _ := overWeb(t, oldProtocol)
		test(t, c)
	})
}

func TestCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c Config) {
		r := open(t, c)
		// The very bytes that were judged arrive, in their order, and with all digits.
		const args = `{"b":"<あ>&\u202e","a":9007199254740993,"c":{"z":1,"y":[1.0,2e3]}}`
		if got := r.call("echo", args); got != args {
			t.Errorf("what arrives is %s", got)
		}
		if got := r.call("structured", `{}`); got != `{"b":9007199254740993,"a":1}` {
			t.Errorf("structured content is %s", got)
		}
		out, err := r.start(t.Context(), r.tool("fail"), `{}`)
		if err != nil || !out.Failed || string(out.Text) != "no such city" {
			t.Errorf("a failure is %+v, %v", out, err)
		}
		big := r.call("big", `{}`)
		if len(big) != outputLimit+1 {
			t.Errorf("a big output has %d bytes", len(big))
		}
		want := `before
[An image (image/png, about 6 bytes) is left out.]
[A sound (audio/wav, about 3 bytes) is left out.]
[A link to a resource, which was not fetched, (http://127.0.0.1:1/secret\u{202E}) is left out.]
inside
[A resource (file:///b, about 3 bytes) is left out.]
after`
		if got := r.call("media", `{}`); got != want {
			t.Errorf("media are\n%s", got)
		}
	})
}

// What a server asks of us is refused, whatever the version of the protocol.
func TestNothingIsGivenToAServer(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "tools/call", "made/up"} {
		for _, version := range []string{"2025-06-18", "2026-07-28"} {
			t.Run(method+" "+version, func(t *testing.T) {
				t.Parallel()
				dir := script(t, `{"name":"a","inputSchema":{"type":"object"}}`)
				if version == "2026-07-28" {
					put(t, dir, "server_discover", discovered)
				}
				put(t, dir, "asks", `{"jsonrpc":"2.0","id":"q1","method":"`+method+`","params":{"message":"your password?","messages":[],"maxTokens":1,"mode":"url","url":"http://127.0.0.1:1/"}}`+"\n")
				put(t, dir, "tools_call", `"result":{"content":[]}`)
				r := open(t, program(t, "scripted", dir))
				r.call("a", `{}`)
				var got string
				until(t, "our answer", func() bool {
					got = contains(t, filepath.Join(dir, "log"), `"id":"q1"`)
					return got != ""
				})
				if !strings.Contains(got, `"error"`) || !strings.Contains(got, "-32601") {
					t.Errorf("the answer is %s", got)
				}
				for _, what := range []string{`"sampling"`, `"elicitation"`, `"roots"`} {
					if line := contains(t, filepath.Join(dir, "log"), what+":"); line != "" {
						t.Errorf("we say that we can do %s: %s", what, line)
					}
				}
			})
		}
	}
}

// contains gives the line of a file that has a text.
func contains(t testing.TB, file, text string) string {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

func TestSurroundings(t *testing.T) {
	t.Setenv("MCP_SECRET", "key")
	t.Setenv("MCP_GIVEN", "given\xff") // Variables are bytes.
	// A descriptor that this process would pass on, as it may have got it itself.
	leaked, err := syscall.Open(filepath.Join(t.TempDir(), "leaked"), syscall.O_CREAT|syscall.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(leaked) })
	c := program(t, "real")
	c.Env, c.WorkDir = []string{"MCP_GIVEN"}, t.TempDir()
	r := open(t, c)
	mask, err := strconv.ParseUint(ignored(), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	mask &^= 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1) // It gets neither, also where nohup has had us ignore them.
	want := fmt.Sprintf(`env=["MCP_GIVEN=given\xff"] files=[] dir=%s group=true ignored=%016x`, c.WorkDir, mask)
	if got := r.call("surroundings", `{}`); got != want {
		t.Errorf("a program finds %s, want %s", got, want)
	}
	until(t, "what it says as an error", func() bool { return r.logs.FilterMessage("mcp server says").Len() > 0 })
	if line := r.logs.FilterMessage("mcp server says").All()[0].ContextMap()["line"]; line != `hello\u{001B}[31m from the server` {
		t.Errorf("what it says as an error is logged as %q", line)
	}
}

func TestDeathInTheMiddle(t *testing.T) {
	t.Parallel()
	r := open(t, program(t, "real"))
	die, echo := r.tool("die"), r.tool("echo")
	_, err := r.start(t.Context(), die, `{}`)
	if err == nil || notStartedErr(err) {
		t.Fatalf("a call whose server died is %v, not unknown", err) // C50
	}
	// The next one begins after a restart.
	if out, err := r.start(t.Context(), echo, `{"a":1}`); err != nil || string(out.Text) != `{"a":1}` {
		t.Fatalf("after a restart: %+v, %v", out, err)
	}
	// A call between the death and the restart was not sent.
	_, _ = r.start(t.Context(), die, `{}`)
	e := r.Effect("ns", echo.Definition)
	if _, err := e.Start(t.Context(), intent(echo), []byte(`{}`)); !notStartedErr(err) {
		t.Errorf("without a server: %v", err)
	}
	// One that dies again and again is left alone for longer and longer.
	until(t, "a pause", func() bool {
		_, err := r.start(t.Context(), die, `{}`)
		var away *AwayError
		return errors.As(err, &away) && time.Until(away.Until) > 0
	})
}

func TestHang(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c Config) {
		r := open(t, c)
		hang, file := r.tool("hang"), filepath.Join(t.TempDir(), "reached")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := r.start(ctx, hang, fmt.Sprintf(`{"file":%q}`, file))
			done <- err
		}()
		until(t, "the call", func() bool { _, err := os.Stat(file); return err == nil })
		cancel()
		if err := <-done; err == nil || notStartedErr(err) {
			t.Errorf("a call that was cut off is %v, not unknown", err)
		}
		if got := r.call("echo", `{"a":1}`); got != `{"a":1}` { // A program was killed, and is started again.
			t.Errorf("the next call gives %s", got)
		}
	})
}

// running is a call that has reached its server.
type running struct {
	file string
	stop context.CancelFunc
	done chan ended
}

type ended struct {
	out router.Output
	err error
}

// running starts a call of hang or linger.
func (r *rig) running(name string) *running {
	r.Helper()
	c := &running{file: filepath.Join(r.TempDir(), name), done: make(chan ended, 1)}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(r.Context())
	t := r.tool(name)
	go func() {
		out, err := r.start(ctx, t, fmt.Sprintf(`{"file":%q}`, c.file))
		c.done <- ended{out, err}
	}()
	until(r, "the call of "+name, func() bool { return exists(c.file) })
	return c
}

// TestHangBesideOthers: a call that is given up ends alone, as unknown. The server hears it, and the calls that others have in it go on to their end. Nobody begins
// another one in it: it is killed with the last of them, and the next call is one of a new program.
func TestHangBesideOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c Config) {
		r := open(t, c)
		hang, other, stayer := r.running("hang"), r.running("hang"), r.running("linger")
		for _, leaver := range []*running{hang, other} {
			leaver.stop()
			if got := <-leaver.done; got.err == nil || notStartedErr(got.err) {
				t.Errorf("a call that was given up is %v, not unknown", got.err)
			}
			until(t, "its cancel", func() bool { return exists(leaver.file + ".cancelled") })
		}
		echo := r.tool("echo")
		if len(c.Command) > 0 {
			began := time.Now()
			for range 5 { // As many as want one are told at once: each is tried again later, and holds nobody up until then.
				var away *AwayError
				if out, err := r.start(t.Context(), echo, `{"a":1}`); !errors.As(err, &away) || !strings.Contains(err.Error(), "a call was given up") {
					t.Errorf("another call in a server that is to end: %s, %v", out.Text, err)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("five that want one waited for %s", took)
			}
			if _, err := r.Effect("ns", echo.Definition).Start(t.Context(), intent(echo), []byte(`{}`)); !notStartedErr(err) {
				t.Errorf("a call that was to begin in it is %v", err)
			}
		}
		if err := os.Remove(stayer.file); err != nil {
			t.Fatal(err)
		}
		got := <-stayer.done
		number, err := strconv.Atoi(string(got.out.Text))
		if err != nil || got.err != nil || got.out.Failed {
			t.Fatalf("the call of another one: %q, %v", got.out.Text, got.err)
		}
		if got := r.call("echo", `{"a":1}`); got != `{"a":1}` {
			t.Errorf("the next call: %q", got)
		}
		if len(c.Command) > 0 && syscall.Kill(number, 0) == nil {
			t.Errorf("process %d goes on with what was given up", number)
		}
		if logs := r.logs.FilterMessage("mcp server is away"); logs.Len() > 0 {
			t.Errorf("%+v", logs.All())
		}
	})
}

// TestBusyServer: a server that does one thing at a time tells no tools while it has a call to do. Whoever wants it then has to wait, and the call goes on.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	dir := script(t, `{"name":"a","inputSchema":{"type":"object"}}`)
	put(t, dir, "tools_call", `"result":{"content":[{"type":"text","text":"done"}]}`)
	r := open(t, program(t, "scripted", dir))
	a := r.tool("a")
	put(t, dir, "jam", "")
	first := make(chan ended, 1)
	go func() {
		out, err := r.start(t.Context(), a, `{}`)
		first <- ended{out, err}
	}()
	until(t, "the call", func() bool { return exists(filepath.Join(dir, "jammed")) })
	var away *AwayError
	if err := r.Effect("ns", a.Definition).Ready(t.Context()); !errors.As(err, &away) {
		t.Errorf("a server that answers nobody is %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "jam")); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got.err != nil || string(got.out.Text) != "done" {
		t.Errorf("the call that it had: %q, %v", got.out.Text, got.err)
	}
	if got := r.call("a", `{}`); got != "done" {
		t.Errorf("the next one: %q", got)
	}
}

// field/review-agent.md S18.
func TestChangedDefinition(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c Config) {
		r := open(t, c)
		echo := r.tool("echo")
		r.call("change", `{}`)
		e := r.Effect("ns", echo.Definition)
		// Without Ready in between: the server has said so, or will have before long.
		until(t, "the change", func() bool {
			_, err := e.Start(t.Context(), intent(echo), []byte(`{}`))
			return notStartedErr(err) && strings.Contains(err.Error(), "has changed")
		})
		for { // The first lists may not be taken yet.
			if l, ok := r.Listed(t.Context()); !ok || l.Server != echo.Origin.ServerID {
				t.Fatalf("%+v", l)
			} else if l.Namespace == "ns" && !slices.ContainsFunc(l.Tools, func(t *tool.Tool) bool { return t.Hash == echo.Hash }) {
				break
			}
		}
		if now := r.tool("echo"); now.Hash == echo.Hash || now.Description != "Echo, and send it elsewhere" {
			t.Errorf("the tool is still %+v", now)
		}
		if kept, _, refused := pins(echo).Keep(r.tools()); len(kept) != 0 || len(refused) == 0 {
			t.Errorf("a session keeps %v", kept)
		}
	})
}

func pins(tools ...*tool.Tool) tool.Pins {
	_, p, _ := tool.Pins{}.Keep(tools)
	return p
}

// routed is a router over the tools of a server, as they are now.
func (r *rig) routed(e *policy.Engine) (router.Router, *book) {
	registry := func() *tool.Registry {
		reg, err := tool.NewRegistry(r.tools()...)
		if err != nil {
			r.Fatal(err)
		}
		return reg
	}
	now := func() router.Now {
		return router.Now{Tools: registry(), Engine: e, InExecution: true, Time: time.Now(), Roles: []string{policy.RoleUser}}
	}
	return router.Router{Tools: registry(), Engine: e, Effects: func(d tool.Definition) router.Effect { return r.Effect("ns", d) }}, &book{now: now}
}

func proposed(name, args string) router.Call {
	return router.Call{ID: "c1", Tool: name, Args: []byte(args)}
}

var inExecution = router.Session{Namespace: "ns", Session: "s1", Task: "t1", Turn: "u1", Roles: []string{policy.RoleUser}, InExecution: true, Now: time.Now()}

// cases/agent.md c34: a tool of a server that enforces nothing itself. The router alone decides.
func TestAgent34TheRouterEnforces(t *testing.T) {
	t.Parallel()
	r := open(t, program(t, "real"))
	file := filepath.Join(t.TempDir(), "reached")
	ro, b := r.routed(engine(t))
	j := ro.Judge(t.Context(), inExecution, proposed("s.echo", `{}`))
	if j.Verdict() != policy.Ask || j.Explanation.Risk.Level < policy.Medium {
		t.Fatalf("a call of a server is judged %v: %+v", j.Verdict(), j.Explanation)
	}
	if ran, err := ro.Run(t.Context(), j, router.Approved{}, 1, b); err != nil || ran.State != router.Refused || len(b.begun) > 0 {
		t.Fatalf("nobody has approved it, and it is %+v, %v", ran, err)
	}
	denying, no := r.routed(engine(t, policy.Rule{ID: "no", Effect: policy.EffectDeny, Tool: "s.*", Reason: "no"}))
	j = denying.Judge(t.Context(), inExecution, proposed("s.hang", fmt.Sprintf(`{"file":%q}`, file)))
	ran, err := denying.Run(t.Context(), j, router.Approved{}, 1, no)
	if err != nil || ran.State != router.Refused || !ran.Result.NotExecuted || len(no.begun) > 0 {
		t.Fatalf("a denied call is %+v, %v", ran, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a denied call has reached the server")
	}
	// A second confirmation, asked for by the tool itself, is answered by nobody.
	j = ro.Judge(t.Context(), inExecution, proposed("s.confirm", `{}`))
	ran, err = ro.Run(t.Context(), j, approve(t, j), 1, b)
	if err != nil || ran.State != router.Failed || ran.Result.Status != tool.Failed || ran.Result.Text != "nobody has confirmed it" || len(b.ending) != 1 {
		t.Errorf("a tool that asks once more: %+v, %v", ran, err)
	}
}

// The router sees a change between the approval and the start, and the call is void.
func TestChangedBeforeIntent(t *testing.T) {
	t.Parallel()
	r := open(t, program(t, "real"))
	ro, b := r.routed(engine(t))
	j := ro.Judge(t.Context(), inExecution, proposed("s.echo", `{}`))
	ok := approve(t, j)
	r.call("change", `{}`)
	ran, err := ro.Run(t.Context(), j, ok, 1, b)
	if err != nil || ran.State != router.Voided || ran.Void.Reason != session.VoidToolChanged || len(b.begun) > 0 {
		t.Fatalf("%+v, %v", ran, err)
	}
	again, b := r.routed(engine(t))
	j = again.Judge(t.Context(), inExecution, proposed("s.echo", `{}`))
	ran, err = again.Run(t.Context(), j, approve(t, j), 1, b)
	if err != nil || ran.State != router.Executed || ran.Result.Text != "other" {
		t.Fatalf("the new one: %+v, %v", ran, err)
	}
}

const initialized = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`

const discovered = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`

// script makes the folder of a scripted server.
func script(t testing.TB, list string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "initialize", initialized)
	put(t, dir, "tools_list", `"result":{"tools":[`+list+`]}`)
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// A name that stands twice is of nobody (cases/agent.md c34).
func TestEvilDefinitions(t *testing.T) {
	t.Parallel()
	const ok = `{"name":"ok","description":"hidden\u200b\u001b[31m","inputSchema":{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{}},"required":["z"]},"annotations":{"readOnlyHint":true,"destructiveHint":false}}`
	for name, tt := range map[string]struct{ list, tools, problem string }{
		"order, hints and invisible characters": {ok, "s.ok", ""},
		"twice":                                 {ok + `,{"name":"OK","inputSchema":{"type":"object"}}`, "", "the name ok stands 2 times"},
		"separators and slashes":                {`{"name":"a.b/c","inputSchema":{"type":"object"}}`, "s.a.b/c", ""},
		"bidi":                                  {`{"name":"a\u202eb","inputSchema":{"type":"object"}}`, "", `s.a\u{202E}b`},
		"a blank":                               {`{"name":"a b","inputSchema":{"type":"object"}}`, "", "its name must be"},
		"no name":                               {`{"inputSchema":{"type":"object"}}`, "", "its name must be"},
		"long":                                  {`{"name":"` + strings.Repeat("a", 200) + `","inputSchema":{"type":"object"}}`, "", "its name must be"},
		"no schema":                             {`{"name":"a"}`, "", "its input schema"},
		"an endless schema":                     {`{"name":"a","inputSchema":{"type":"object","$ref":"#"}}`, "", "refers to itself"},
		"no object":                             {`1,"a",null,[]`, "", "cannot be read"},
		"beside a good one":                     {`{"name":1},` + ok, "s.ok", "tool 1 of the list cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, program(t, "scripted", script(t, tt.list)))
			if got := r.names(); got != tt.tools {
				t.Errorf("the tools are %q, want %q", got, tt.tools)
			}
			ready := r.Ready()[0]
			if !strings.Contains(ready.Message, tt.problem) || ready.OK != (tt.problem == "") || ready.Fatal {
				t.Errorf("Ready says %+v", ready)
			}
			if tt.list == ok {
				one := r.tool("ok")
				if want := `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{}},"required":["z"]}`; one.Input != want {
					t.Errorf("the schema is %s", one.Input)
				}
				if one.Show().Description != `hidden\u{200B}\u{001B}[31m` {
					t.Errorf("it is shown as %q", one.Show().Description)
				}
				if !(policy.Call{Tool: one.Definition}).Effectful() {
					t.Error("the server's word for a tool that only looks is believed")
				}
			}
		})
	}
}

func TestAllowList(t *testing.T) {
	t.Parallel()
	c := program(t, "real")
	c.Tools, c.Namespaces = []string{"echo", "gone"}, []string{"ns"}
	r := open(t, c)
	if got := r.names(); got != "s.echo" {
		t.Errorf("the tools are %q", got)
	}
	if m := r.Ready()[0].Message; m != "there is no tool gone" {
		t.Errorf("Ready says %q", m)
	}
	echo := r.tool("echo").Definition
	if len(r.of("other")) > 0 || r.Effect("other", echo) != nil {
		t.Error("another namespace may use it")
	}
	echo.Origin.ServerID = "another"
	if r.Effect("ns", echo) != nil {
		t.Error("it is carried out for a server of another command")
	}
	if r.Effect("ns", tool.BuiltIns()[0]) != nil {
		t.Error("a built-in tool is carried out")
	}
}

// A server cannot have its definitions kept by us: they are listed before each INTENT, whatever it says of how long they hold.
func TestListsAreNotCached(t *testing.T) {
	t.Parallel()
	const old, changed = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"a","description":"new","inputSchema":{"type":"object"}}`
	dir := script(t, "")
	put(t, dir, "server_discover", discovered)
	put(t, dir, "tools_list", `"result":{"tools":[`+old+`],"ttlMs":100000000,"cacheScope":"public"}`)
	r := open(t, program(t, "scripted", dir))
	a := r.tool("a")
	if p := r.link(r.cfg[0], "ns").conn.session.InitializeResult().ProtocolVersion; p != "2026-07-28" {
		t.Fatalf("the protocol is %s", p)
	}
	put(t, dir, "tools_list", `"result":{"tools":[`+changed+`],"ttlMs":100000000}`)
	if _, err := r.start(t.Context(), a, `{}`); !notStartedErr(err) {
		t.Errorf("%v", err)
	}
}

func TestOddAnswers(t *testing.T) {
	t.Parallel()
	const one = `{"name":"a","inputSchema":{"type":"object"}}`
	for name, tt := range map[string]struct {
		answer, text string
		failed, err  bool
	}{
		"an error":          {`"error":{"code":-32000,"message":"out of\u001b stock"}`, `The server answered with an error: out of\u{001B} stock (code -32000)`, true, false},
		"no result":         {`"result":"x"`, "", false, true},
		"nothing":           {`"result":{}`, "", false, false},
		"unknown part":      {`"result":{"content":[{"type":"hologram"},1]}`, "[A part of the kind hologram is left out.]\n[A part that cannot be read is left out.]", false, false},
		"told twice":        {`"result":{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}`, `{"a": 1}`, false, false},
		"asks for more":     {`"result":{"resultType":"input_required","inputRequests":{}}`, "The server asks for something", true, false},
		"more parts":        {`"result":{"content":[` + strings.Repeat(`{"type":"text","text":""},`, 1500) + `{"type":"text","text":""}]}`, "[501 more parts are left out.]", false, false},
		"a very long error": {`"error":{"code":1,"message":"` + strings.Repeat("x", 10000) + `"}`, "xxx… (code 1)", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := script(t, one)
			put(t, dir, "tools_call", tt.answer)
			r := open(t, program(t, "scripted", dir))
			out, err := r.start(t.Context(), r.tool("a"), `{}`)
			if (err != nil) != tt.err || notStartedErr(err) || out.Failed != tt.failed || !strings.Contains(string(out.Text), tt.text) {
				t.Errorf("%q, failed %v, %v", out.Text, out.Failed, err)
			}
		})
	}
}

// A message that is too long ends the connection, and nobody knows what the call has done.
func TestTooLongAMessage(t *testing.T) {
	t.Parallel()
	dir := script(t, `{"name":"a","inputSchema":{"type":"object"}}`)
	put(t, dir, "tools_call", `"result":{"content":[{"type":"text","text":"`+strings.Repeat("a", maxMessage)+`"}]}`)
	r := open(t, program(t, "scripted", dir))
	if out, err := r.start(t.Context(), r.tool("a"), `{}`); err == nil || notStartedErr(err) {
		t.Fatalf("%d bytes, %v", len(out.Text), err)
	}
	put(t, dir, "tools_call", `"result":{"content":[{"type":"text","text":"short"}]}`)
	if got := r.call("a", `{}`); got != "short" {
		t.Errorf("after a new start: %q", got)
	}
}

func TestEndlessPages(t *testing.T) {
	t.Parallel()
	dir := script(t, "")
	put(t, dir, "tools_list", `"result":{"tools":[],"nextCursor":"x"}`)
	r := open(t, program(t, "scripted", dir))
	if r.names() != "" || !strings.Contains(r.Ready()[0].Message, "more than 64 pages") {
		t.Errorf("%+v", r.Ready())
	}
}

func TestStubbornProgram(t *testing.T) {
	t.Parallel()
	dir := script(t, `{"name":"a","inputSchema":{"type":"object"}}`)
	r := open(t, program(t, "scripted", dir, "stubborn"))
	r.tool("a")
	text, err := os.ReadFile(filepath.Join(dir, "number"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it lives on: %v", err)
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]Config{
		"no program": {Name: "s", Command: []string{"/nothing/there"}, Tools: []string{All}},
		"no server":  {Name: "s", Command: []string{"/bin/true"}, Tools: []string{All}},
		"no address": {Name: "s", URL: gone.URL, Tools: []string{All}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, c)
			if got := r.names(); got != "" {
				t.Errorf("tools: %s", got)
			}
			until(t, "what Ready says", func() bool { c := r.Ready()[0]; return !c.OK && !c.Fatal && c.Message != "" })
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	web := httptest.NewServer(http.RedirectHandler(other.URL+"/mcp?key=secret", http.StatusTemporaryRedirect))
	t.Cleanup(web.Close)
	r := open(t, Config{Name: "s", URL: web.URL, Tools: []string{All}, Headers: map[string]string{"Authorization": "Bearer x"}})
	r.names()
	if m := r.Ready()[0].Message; !strings.Contains(m, "sends us on to "+other.URL+"/mcp, where we do not go") || asked.Load() > 0 {
		t.Errorf("Ready says %q, asked %d times", m, asked.Load())
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	c, _ := overWeb(t)
	inner := c.URL
	var wrong atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer key" || q.Header.Get("X-Team") != "a" {
			wrong.Add(1)
		}
		proxy(inner).ServeHTTP(w, q)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("Bearer key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.URL, c.Headers, c.HeaderFiles = web.URL, map[string]string{"x-team": "a"}, map[string]string{"authorization": file}
	r := open(t, c)
	if got := r.call("echo", `{"a":1}`); got != `{"a":1}` || wrong.Load() > 0 {
		t.Errorf("%s, %d requests without the headers", got, wrong.Load())
	}
}

// Two namespaces have processes of their own (field/review-agent.md S13).
func TestNamespacesApart(t *testing.T) {
	t.Parallel()
	r := open(t, program(t, "real"))
	pids := map[string]bool{}
	for _, ns := range []string{"a", "b", "a"} {
		for _, one := range r.of(ns) {
			if one.Name != "spawn" {
				continue
			}
			e := r.Effect(ns, one.Definition)
			if err := e.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			out, err := e.Start(t.Context(), intent(one), []byte(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			pids[strings.Fields(string(out.Text))[0]] = true
		}
	}
	if len(pids) != 2 {
		t.Errorf("two namespaces have %d processes", len(pids))
	}
}

// What a server has started ends with it, and both with the agent, whatever it has made itself, and in a sandbox or not
// (field/review-agent.md S26).
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"confined", "unconfined"} {
		server := program(t, "real")
		server.Unconfined = server.Unconfined || how == "unconfined"
		t.Run("close "+how, func(t *testing.T) {
			t.Parallel()
			r := open(t, server)
			pids := numbers(t, r.call("spawn", `{}`))
			r.Close()
			for _, pid := range pids {
				if runs(pid) {
					t.Errorf("%d of %v runs on", pid, pids)
				}
			}
		})
		t.Run("death of the server "+how, func(t *testing.T) {
			t.Parallel()
			r := open(t, server)
			pids := numbers(t, r.call("spawn", `{}`))
			_, _ = r.start(t.Context(), r.tool("die"), `{}`)
			until(t, "the end of what it has started", func() bool { return !slices.ContainsFunc(pids, runs) })
		})
		t.Run("kill -9 of the agent "+how, func(t *testing.T) {
			t.Parallel()
			name := server.Command[0]
			if server.Unconfined {
				how = "unconfined"
			}
			c := exec.CommandContext(t.Context(), name, "agent", how, name, "real")
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pids := numbers(t, line)
			t.Cleanup(func() {
				for _, pid := range pids {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			until(t, "the end of all of them", func() bool { return !slices.ContainsFunc(pids, runs) })
		})
	}
}

// A server whose keeper is killed ends, and another is started.
func TestKilledKeeper(t *testing.T) {
	t.Parallel()
	r := open(t, program(t, "real"))
	r.tool("echo")
	server, keeper := 0, 0
	if _, err := fmt.Sscan(r.call("try", `{"do":"numbers"}`), &server, &keeper); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the server", func() bool { return !runs(server) })
	until(t, "another one", func() bool {
		out, err := r.start(t.Context(), r.tool("echo"), `{"a":1}`)
		return err == nil && string(out.Text) == `{"a":1}`
	})
}

// numbers are those of a server and of the three that it has started.
func numbers(t testing.TB, text string) []int {
	t.Helper()
	pids := make([]int, 4)
	if _, err := fmt.Sscan(text, &pids[0], &pids[1], &pids[2], &pids[3]); err != nil {
		t.Fatal(err)
	}
	return pids
}

// runs says whether a process runs: one that has ended and was not waited for does not.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return state != "" && state[0] != 'Z'
}

// TestWait: a server that answers nothing has told nothing, and neither have all; another one is not waited for because of it. One that has gone since
// it told its tools has told them.
func TestWait(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(over); silent.CloseClientConnections(); silent.Close() })
	up, server := overWeb(t)
	up.Name = "up"
	r := open(t, Config{Name: "away", URL: silent.URL, Tools: []string{All}}, up)
	began := time.Now()
	if !r.Wait(t.Context(), "ns", "up") || len(r.Tools("ns")) == 0 {
		t.Error("the server that is up has told nothing")
	}
	if !r.Wait(t.Context(), "ns", "none") {
		t.Error("a server that is not among the settings is waited for")
	}
	if took := time.Since(began); took >= firstWait {
		t.Errorf("it took %s: the other server is waited for", took)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, name := range []string{"away", ""} {
		if r.Wait(soon, "ns", name) {
			t.Errorf("%q has told its tools", name)
		}
	}
	for session := range server.Sessions() {
		_ = session.Close()
	}
	if !r.Wait(t.Context(), "ns", "up") {
		t.Error("what the server has told is forgotten")
	}
}
