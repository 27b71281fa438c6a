package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/metadata"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/auditkeys"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/policyfile"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// parked is how many sessions wait, soon is within which time the first of their approvals should be served after a start, and most what the process
// may need of memory, in KiB.
const (
	parked = 10_000
	soon   = 2 * time.Second
	most   = 256 << 10
	// few is more than a process has that does nothing.
	few = 100
)

// TestAgent35ManySessionsWait: a process over very many sessions, each of which waits for a person, is there at once, has all of what waits in its
// inbox, takes decisions, carries out what was approved, and needs little memory and no goroutine or descriptor for any of them: a session that
// waits is a row (cases/agent.md c35).
func TestAgent35ManySessionsWait(t *testing.T) {
	sessions := parked
	if testing.Short() || testkit.Race {
		sessions = parked / 20 // The race detector makes each many times dearer.
	}
	p := park(t, sessions)
	p.start()
	p.pages(sessions)
	if all, open := p.metric("go_goroutines"), p.metric("process_open_fds"); all < 1 || all > few || open < 1 || open > few {
		t.Errorf("while %d sessions wait the process has %d goroutines and %d descriptors", sessions, all, open)
	}
	for i, name := range p.names[:40] {
		p.decide(name, i%2 == 0)
	}
	p.eventually("what was approved is carried out", func() bool {
		files, err := os.ReadDir(p.work)
		p.ok(err)
		return len(files) == 20
	})
	if peak := p.memory("VmHWM"); peak > most {
		t.Errorf("the process took %d KiB of memory; at most %d are expected", peak, most)
	}
}

// lot is a data folder with sessions that wait, and a process over it.
type lot struct {
	*testing.T
	dir, work, pid, admin string
	agent                 agentv1.AgentServiceClient
	began                 time.Time
	// approver is a context of somebody who decides, names are the approvals.
	approver context.Context //nolint:containedctx // of a test
	names    []string
}

func (p *lot) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// park makes sessions as a process leaves them: each was sent a message, and waits for a decision about its call. Many at once share a commit.
func park(t *testing.T, sessions int) *lot {
	t.Helper()
	p := &lot{T: t, dir: t.TempDir(), work: t.TempDir()}
	began := time.Now()
	p.ok(os.MkdirAll(p.data(), 0o700))
	store, err := sqlite.Open(filepath.Join(p.data(), "sessions.db"))
	p.ok(err)
	e := p.engine(store)
	var all errgroup.Group
	all.SetLimit(256)
	for n := range sessions {
		all.Go(func() error { return parkOne(t.Context(), e, n) })
	}
	p.ok(all.Wait())
	p.ok(store.Close())
	t.Logf("%d sessions were made in %s", sessions, time.Since(began).Round(time.Millisecond))
	return p
}

func (p *lot) data() string { return filepath.Join(p.dir, "agent") }

// engine carries sessions on in the store, as a process does, with a model that creates the file that it is sent the name of.
func (p *lot) engine(store *sqlite.Store) *turn.Engine {
	p.Helper()
	keys, err := auditkeys.LoadOrMake(p.data())
	p.ok(err)
	root, err := workfolder.Open(workfolder.Config{Name: "work", Path: p.work}, nil)
	p.ok(err)
	p.Cleanup(func() { _ = root.Close() })
	policies, err := policyfile.Load("")
	p.ok(err)
	machine, limits := session.Machine{Limits: session.DefaultLimits()}, turn.DefaultLimits()
	limits.Together = time.Minute // A message and its answer are one transaction.
	return turn.New(turn.Deps{
		Ledger: ledger.New(store, keys, machine, now{}), Machine: machine, Prompts: plain{}, Models: creator{}, IDs: fresh{}, Clock: now{},
		Tools:  &toolbox.Box{Work: map[string]toolbox.Folder{"work": {Root: root}}, Policies: policies, Servers: noServers{}, Session: noSession{}},
		Limits: limits, Terms: gate.DefaultTerms(),
	})
}

func parkOne(ctx context.Context, e *turn.Engine, n int) error {
	id := uuid.NewString()
	_, err := e.Ledger.Create(ctx, "default", ledger.Fresh{ID: id, Owner: "local", Settings: ledger.Settings{Root: "work", Locale: "en"}}, audit.Actor{Name: "local", Kind: audit.Person})
	if err != nil {
		return err
	}
	m := turn.Message{
		Sent: session.Sent{ID: uuid.NewString(), Mode: session.Queue}, Text: fmt.Sprintf("%05d.txt", n),
		Who: gate.Who{Name: "local", Namespace: "default", Roles: []string{policy.RoleUser}},
	}
	var refused error
	_, err = e.Converse(ctx, ctx, "default", id, m, func(_ turn.Receipt, err error) { refused = err })
	if refused != nil {
		return refused
	}
	return err
}

// start starts the program agent over the folder, and reads the first page.
func (p *lot) start() {
	p.Helper()
	binary := filepath.Join(p.dir, "agent-program")
	p.ok(kill.Build(p.Context(), binary, "github.com/tsumugi-dev/tsumugi/services/agent/cmd/agent"))
	tools := filepath.Join(p.dir, "tools.yaml")
	p.ok(os.WriteFile(tools, []byte("roots:\n  - {name: work, path: '"+p.work+"'}\n"), 0o600))
	p.began = time.Now()
	both := func(line string) (string, bool) {
		where, found := answersOn(line)
		if found {
			_, rest, _ := strings.Cut(line, "; ")
			p.admin, _, _ = strings.Cut(rest, "/readyz")
		}
		return where, found
	}
	program, err := kill.Launch(p.Context(), both, binary, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", p.data(),
		"--sessions.tools", tools, "--promptbuilder", deadAddress, "--flowstore", deadAddress, "--log.level", "error")
	p.ok(err)
	address, err := program.Address()
	p.ok(err)
	p.pid = strconv.Itoa(program.PID())
	p.Cleanup(func() {
		if err := program.Kill(); err != nil {
			p.Error(err)
		}
	})
	conn, err := grpcclient.Dial(address, grpcclient.Options{})
	p.ok(err)
	p.Cleanup(func() { _ = conn.Close() })
	p.agent = agentv1.NewAgentServiceClient(conn)
	shown, err := token.ReadSecret(filepath.Join(p.data(), token.SecretName))
	p.ok(err)
	p.approver = metadata.AppendToOutgoingContext(p.Context(), "authorization", "Bearer "+shown)
}

func answersOn(line string) (string, bool) {
	_, rest, found := strings.Cut(line, " answers on ")
	where, _, _ := strings.Cut(rest, ";")
	return where, found
}

// pages reads the whole inbox: each approval is there once.
func (p *lot) pages(want int) {
	p.Helper()
	seen, q := map[string]bool{}, &agentv1.ListApprovalsRequest{PageSize: 1000}
	for first := true; first || q.GetPageToken() != ""; first = false {
		page, err := p.agent.ListApprovals(p.approver, q)
		p.ok(err)
		if took := time.Since(p.began); first && took > soon {
			p.Logf("SLOW: the first page was served %s after the start, and should have been within %s (%d KiB of memory)", took, soon, p.memory("VmHWM"))
		} else if first {
			p.Logf("the first page was served %s after the start", took.Round(time.Millisecond))
		}
		for _, a := range page.GetApprovals() {
			if seen[a.GetName()] || a.GetState() != agentv1.ApprovalState_APPROVAL_STATE_PENDING {
				p.Errorf("%s is there twice, or is %s", a.GetName(), a.GetState())
			}
			seen[a.GetName()] = true
			p.names = append(p.names, a.GetName())
		}
		q.PageToken = page.GetNextPageToken()
	}
	p.Logf("all %d were read %s after the start; %d KiB of memory", len(seen), time.Since(p.began).Round(time.Millisecond), p.memory("VmHWM"))
	if len(seen) != want {
		p.Fatalf("%d approvals are in the inbox, and %d wait", len(seen), want)
	}
}

func (p *lot) decide(name string, approve bool) {
	p.Helper()
	a, err := p.agent.GetApproval(p.approver, &agentv1.GetApprovalRequest{Name: name})
	p.ok(err)
	decision, want := agentv1.Decision_DECISION_DENY, agentv1.ApprovalState_APPROVAL_STATE_DENIED
	if approve {
		decision, want = agentv1.Decision_DECISION_APPROVE, agentv1.ApprovalState_APPROVAL_STATE_APPROVED
	}
	got, err := p.agent.DecideApproval(p.approver, &agentv1.DecideApprovalRequest{Name: name, Digest: a.GetDigest(), Decision: decision})
	p.ok(err)
	if got.GetState() != want {
		p.Errorf("%s is %s", name, got.GetState())
	}
}

// eventually waits until something has come true that tells nobody when it does.
func (p *lot) eventually(what string, ok func() bool) {
	p.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-late:
			p.Fatalf("%s: not after a minute", what)
		case <-tick.C:
		}
	}
}

// memory is a figure of the process in KiB.
func (p *lot) memory(key string) int {
	p.Helper()
	text, err := os.ReadFile("/proc/" + p.pid + "/status")
	p.ok(err)
	_, rest, _ := strings.Cut(string(text), key+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	p.ok(err)
	return n
}

// metric is a figure that the process tells of itself.
func (p *lot) metric(name string) int {
	p.Helper()
	r, err := http.Get(p.admin + "/metrics")
	p.ok(err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	p.ok(err)
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(value)
	p.ok(err)
	return n
}

// now and fresh are the system's clock and randomness.
type (
	now   struct{}
	fresh struct{}
)

func (now) Now() time.Time { return time.Now() }
func (fresh) ID() string   { return uuid.Must(uuid.NewV7()).String() }

// plain makes the shortest prompt there is.
type plain struct{}

func (plain) Build(context.Context, string, turn.Prompt) (turn.Built, error) {
	return turn.Built{Text: "you are an agent"}, nil
}

// noServers and noSession have no tools beside those that are built in.
type (
	noServers struct{}
	noSession struct{}
)

func (noServers) Wait(context.Context, string, string) bool                    { return true }
func (noServers) Tools(string) []*tool.Tool                                    { return nil }
func (noServers) Effect(string, tool.Definition) router.Effect                 { return nil }
func (noSession) Effect(string, ledger.Session, tool.Definition) router.Effect { return nil }
func (noSession) Reads(string, ledger.Session) map[string]router.ReadFunc      { return nil }

// creator is a model that creates the file whose name it is sent.
type creator struct{}

func (creator) Generator(string) (llm.Generator, error) { return creator{}, nil }
func (creator) Window(context.Context) (llm.Identity, error) {
	return llm.Identity{Window: 1 << 20}, nil
}
func (creator) Generate(_ context.Context, r llm.Request) (llm.Stream, error) {
	name := r.Messages[len(r.Messages)-1].Content
	return &said{fmt.Sprintf(`{"rationale":"it is asked for","goal_consistency":"yes","constraint_check":"yes","step":"EXECUTION","next_step":"continue",`+
		`"prompt_pattern":"base_main_specialized","actions":[{"name":"create","args":{"path":%q,"content":"text\n"}}]}`, name)}, nil
}

type said struct{ rest string }

func (s *said) Recv() (string, error) {
	if s.rest == "" {
		return "", io.EOF
	}
	piece := s.rest
	s.rest = ""
	return piece, nil
}

func (*said) Result() llm.Result { return llm.Result{Finish: llm.FinishStop} }
func (*said) Close() error       { return nil }
