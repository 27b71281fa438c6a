package router

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a work folder and a read folder on the disk, beside one that is none of its business.
type world struct {
	testing.TB
	base, dir, skills, outside string
	root                       *counted
	Router
	Session
	*book
}

// newWorld makes one whose policy has these rules.
func newWorld(t testing.TB, rules ...policy.Rule) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{TB: t, base: base, dir: filepath.Join(base, "work"), skills: filepath.Join(base, "skills"), outside: filepath.Join(base, "outside")}
	for _, dir := range []string{w.dir, w.skills, w.outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.root = &counted{Root: w.open(workfolder.Config{Name: "work", Path: w.dir})}
	w.Mounts = folder.Mounts{Work: w.root, Others: []folder.Root{w.open(workfolder.Config{Name: "skills", Path: w.skills, Mount: "/skills", ReadOnly: true})}}
	w.Tools, w.Engine = registry(t, tool.BuiltIns()...), engine(t, rules...)
	w.Session = Session{Namespace: "ns", Session: "s1", Task: "t1", Turn: "u1", Roles: []string{policy.RoleUser}, InExecution: true, Now: noon}
	w.Grace = 50 * time.Millisecond
	w.Lock, w.Proof = 100*time.Millisecond, 100*time.Millisecond
	w.book = &book{now: w.holds}
	return w
}

func (w *world) open(c workfolder.Config) *workfolder.Root {
	w.Helper()
	r, err := workfolder.Open(c, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { r.Close() })
	return r
}

// holds is what the book tells the recheck.
func (w *world) holds() Now {
	s := w.Session
	return Now{Tools: w.Tools, Engine: w.Engine, Standing: s.Standing, InExecution: s.InExecution, Roles: s.Roles, Time: s.Now}
}

func registry(t testing.TB, all ...tool.Definition) *tool.Registry {
	t.Helper()
	var tools []*tool.Tool
	for _, d := range all {
		one, err := tool.Admit(d)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, one)
	}
	r, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func engine(t testing.TB, rules ...policy.Rule) *policy.Engine {
	t.Helper()
	p := policy.Default()
	p.Name, p.Rules = "test", rules
	set, err := policy.NewSet([]policy.Policy{p}, "test")
	if err != nil {
		t.Fatal(err)
	}
	e, err := set.Engine(policy.Choice{Policy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func deny(path string) policy.Rule {
	return policy.Rule{ID: "deny", Effect: policy.EffectDeny, Path: path, Reason: "secret"}
}

// allowAll lets all changes of files start unasked.
var allowAll = policy.Rule{ID: "all", Effect: policy.EffectAllow, Tool: "*", Reason: "test"}

func call(name string, args map[string]any) Call {
	if args == nil {
		args = map[string]any{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Call{ID: "c1", Tool: name, Args: data}
}

func write(path, content string) Call {
	return call(tool.Write, map[string]any{"path": path, "content": content})
}

func (w *world) judge(c Call) Judged {
	return w.Judge(w.Context(), w.Session, c)
}

// approve is what a person decides who has seen a call.
func (w *world) approve(j Judged) Approved {
	w.Helper()
	digest, err := j.Digest("a1", "s")
	if err != nil {
		w.Fatal(err)
	}
	return Approved{Approval: "a1", Salt: "s", CallHash: j.CallHash, Digest: digest}
}

// run starts a call as approved, or as allowed.
func (w *world) run(j Judged, ok Approved) Ran {
	w.Helper()
	ran, err := w.Run(w.Context(), j, ok, 1, w.book)
	if err != nil {
		w.Fatal(err)
	}
	return ran
}

func (w *world) put(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.Fatal(err)
	}
}

// ok fails where the world could not be made as it is to be.
func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Error(err)
	}
}

// content is what a file of the work folder holds; "-" where there is none.
func (w *world) content(name string) string { return contentOf(w, filepath.Join(w.dir, name)) }

func contentOf(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// staged are the staged names in the folder.
func (w *world) staged() (all []string) {
	w.Helper()
	err := filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), folder.StagedPrefix) {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// rows says that the rows can be put into the record, and gives them.
func rows(t testing.TB, entries ...audit.Entry) []audit.Entry {
	t.Helper()
	keys, err := audit.NewKeys("k", map[string][]byte{"k": make([]byte, audit.MinKey)})
	if err != nil {
		t.Fatal(err)
	}
	head := keys.Begin("ns", "s1")
	for _, e := range entries {
		if _, head, err = keys.Append(head, e); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
	return entries
}

// counted is a folder that counts what is asked of it, and calls back before each step of an effect.
type counted struct {
	folder.Root
	mu    sync.Mutex
	asked map[string]int
	step  func(string)
}

func (c *counted) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	c.asked[what]++
}

// total is how often the disk was looked at.
func (c *counted) total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.asked {
		n += one
	}
	return n
}

func (c *counted) at(step string) {
	if c.step != nil {
		c.step(step)
	}
}

func (c *counted) List(ctx context.Context, path, after string) (folder.Listing, error) {
	c.count("list")
	return c.Root.List(ctx, path, after)
}

func (c *counted) Stat(ctx context.Context, path string) (folder.Entry, error) {
	c.count("stat")
	return c.Root.Stat(ctx, path)
}

func (c *counted) Read(ctx context.Context, path string, o folder.ReadOptions) (folder.Content, error) {
	c.count("read")
	return c.Root.Read(ctx, path, o)
}

func (c *counted) Search(ctx context.Context, q folder.Query) (folder.Found, error) {
	c.count("search")
	return c.Root.Search(ctx, q)
}

func (c *counted) Plan(ctx context.Context, changes ...folder.Change) []folder.Planned {
	c.count("plan")
	c.at("planning")
	return c.Root.Plan(ctx, changes...)
}

func (c *counted) Lock(ctx context.Context) (folder.Held, error) {
	c.count("lock")
	h, err := c.Root.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return &stepped{h, c}, nil
}

// stepped is a held folder that calls back.
type stepped struct {
	folder.Held
	c *counted
}

func (s *stepped) Stage(ctx context.Context, c folder.Change) (folder.Staged, error) {
	s.c.at("locked")
	st, err := s.Held.Stage(ctx, c)
	s.c.at("staged")
	return st, err
}

func (s *stepped) Apply(ctx context.Context, st folder.Staged) folder.Outcome {
	s.c.at("applying")
	out := s.Held.Apply(ctx, st)
	s.c.at("applied")
	return out
}

func (s *stepped) Finish(ctx context.Context, st folder.Staged) (string, error) {
	s.c.at("finishing")
	kept, err := s.Held.Finish(ctx, st)
	s.c.at("finished")
	return kept, err
}

// book is a journal in memory.
type book struct {
	now func() Now
	// before is called in the transaction, before the recheck.
	before func()
	// blind does not call the recheck; beginErr and endErr are what the store says after it has written.
	blind            bool
	beginErr, endErr error

	intents []Intent
	voids   []*VoidError
	ends    []Ending
}

func (b *book) Begin(ctx context.Context, i Intent, recheck Recheck) error {
	if b.before != nil {
		b.before()
	}
	if !b.blind {
		if err := recheck(ctx, b.now()); err != nil {
			var v *VoidError
			if errors.As(err, &v) {
				b.voids = append(b.voids, v)
			}
			return err
		}
	}
	b.intents = append(b.intents, i)
	return b.beginErr
}

func (b *book) End(ctx context.Context, e Ending) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.ends = append(b.ends, e)
	return b.endErr
}

// scripted is an effect of somebody else.
type scripted struct {
	inFolder bool
	ready    error
	start    func(ctx context.Context, args []byte) (Output, error)
	begun    atomic.Int32
}

func (s *scripted) InFolder() bool              { return s.inFolder }
func (s *scripted) Ready(context.Context) error { return s.ready }
func (s *scripted) Start(ctx context.Context, _ Intent, args []byte) (Output, error) {
	s.begun.Add(1)
	return s.start(ctx, args)
}

// proving can tell after a crash.
type proving struct {
	scripted
	out folder.Outcome
}

func (p *proving) Prove(context.Context, Intent) folder.Outcome { return p.out }

// program runs in a folder.
type program struct {
	scripted
	process canon.Process
}

func (p *program) Process(context.Context, []byte) (canon.Process, error) { return p.process, nil }

// theirs is a tool of an MCP server.
func theirs() tool.Definition {
	return tool.Definition{
		Name: "act", Description: "acts", Input: `{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}`,
		Annotations: tool.Annotations{ReadOnly: tool.Yes, Idempotent: tool.Yes}, Origin: tool.Origin{Kind: tool.MCP, Server: "srv", ServerID: "srv /bin/srv"},
		Timeout: time.Second, Limit: 1000,
	}
}

// with gives the world a tool of a server, which an effect carries out.
func (w *world) with(e Effect) *world {
	w.Helper()
	w.Tools = registry(w, append(tool.BuiltIns(), theirs())...)
	w.Effects = func(d tool.Definition) Effect {
		if d.Full() == "srv.act" {
			return e
		}
		return nil
	}
	return w
}

// renamed is a folder with the name of the work folder.
type renamed struct{ folder.Root }

func (r *renamed) About() folder.About {
	a := r.Root.About()
	a.Name = "work"
	return a
}
