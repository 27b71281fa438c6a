package e2e

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// logLevel is that of the services: what a scenario does not ask for are the lines of calls that went well.
func (s settings) logLevel() string { return cmp.Or(s.level, "warn") }

// oneProcess has everything in the test process.
var oneProcess = mode{name: "one process", launch: launchHere}

// oneProgram has everything in `tsumugi serve`, for what the test process would not survive.
var oneProgram = mode{name: "one program", launch: launchServe}

// fourProcesses has a program for each service.
var fourProcesses = mode{name: "four processes", launch: launchFour}

// killable gives the mode itself where its processes can be killed, else the one that comes nearest.
func (m mode) killable() mode {
	if m.name == oneProcess.name {
		program := oneProgram
		program.model = m.model
		return program
	}
	return m
}

// launchHere runs what `tsumugi serve` runs. Signals reach it over a channel.
func launchHere(ctx context.Context, s settings) (*system, error) {
	cfg := allinone.DefaultConfig()
	free := net.JoinHostPort(s.host, "0")
	cfg.Listen = allinone.Listen{GRPC: free, HTTP: free, Admin: free}
	cfg.Stop.Delay, cfg.Log.Level = 0, s.logLevel()
	cfg.Backends, cfg.FlowStore.Data = s.backends, s.data
	cfg.Agent.Data = s.agent
	cfg.PromptBuilder.Prompts, cfg.Auth.Tokens = s.prompts, s.tokens
	cfg.Agent.Summaries.Grammar, cfg.Agent.Summaries.Background = s.grammar, s.background
	own := &cfg.Agent.Sessions
	own.Tools, own.Policies, own.Approval, own.Lease = s.toolsFile, s.policies, cmp.Or(s.approval, own.Approval), cmp.Or(s.lease, own.Lease)
	own.AnswerTokens, own.ModelCalls = cmp.Or(s.answerTokens, own.AnswerTokens), cmp.Or(s.modelCalls, own.ModelCalls)
	own.RequesterMayApprove = !s.others
	if err := config.Load(&cfg, config.Source{}); err != nil { // reads the files
		return nil, err
	}
	process, err := allinone.Open(ctx, cfg, obs.NewLogger(cfg.Log, s.log))
	if err != nil {
		return nil, err
	}
	signals := make(chan os.Signal, 2)
	ended := make(chan error, 1)
	go func() { ended <- process.Run(ctx, lifecycle.Options{Signals: signals}) }()
	return &system{
		promptbuilder: process.GRPC(), agent: process.GRPC(), flowstore: process.GRPC(),
		base: "http://" + process.HTTP(), admin: []string{process.Admin()},
		stop: func(sig syscall.Signal) error {
			signals <- sig
			return <-ended
		},
	}, nil
}

// launchServe runs `tsumugi serve`.
func launchServe(ctx context.Context, s settings) (*system, error) {
	free := net.JoinHostPort(s.host, "0")
	p, err := launch(ctx, s, 3, "tsumugi", append([]string{
		"serve", "--listen.grpc", free, "--listen.http", free, "--listen.admin", free,
		"--stop.delay", "0s", "--log.level", s.logLevel(), "--backends", s.backends, "--flowstore.data", s.data, "--agent.data", s.agent,
		"--promptbuilder.prompts", s.prompts, "--auth.tokens", s.tokens,
	}, s.ofAgent("--agent.")...)...)
	if err != nil {
		return nil, err
	}
	return &system{
		promptbuilder: p.addresses[0], agent: p.addresses[0], flowstore: p.addresses[0],
		base: "http://" + p.addresses[1], admin: p.addresses[2:], stop: p.stop,
	}, nil
}

// ofAgent are the flags with the settings of summaries and sessions, behind a prefix.
func (s settings) ofAgent(prefix string) (flags []string) {
	if s.grammar != "" {
		flags = append(flags, prefix+"summaries.grammar", s.grammar)
	}
	if s.background {
		flags = append(flags, prefix+"summaries.background", "true")
	}
	flags = append(flags, prefix+"sessions.tools", s.toolsFile, prefix+"sessions.policies", s.policies,
		prefix+"sessions.requester_may_approve", strconv.FormatBool(!s.others))
	for name, d := range map[string]time.Duration{"approval": s.approval, "lease": s.lease} {
		if d > 0 {
			flags = append(flags, prefix+"sessions."+name, d.String())
		}
	}
	for name, n := range map[string]int{"answer_tokens": s.answerTokens, "model_calls": s.modelCalls} {
		if n > 0 {
			flags = append(flags, prefix+"sessions."+name, strconv.Itoa(n))
		}
	}
	return flags
}

// launchFour runs the programs of the four services.
func launchFour(ctx context.Context, s settings) (*system, error) {
	var all []*program // those first that are called
	stop := func(sig syscall.Signal) (err error) {
		for i := len(all) - 1; i >= 0; i-- {
			err = errors.Join(err, all[i].stop(sig))
		}
		return err
	}
	service := func(name string, args ...string) (address string, err error) {
		free := net.JoinHostPort(s.host, "0")
		args = append([]string{"--listen", free, "--admin", free, "--stop.delay", s.delay[name].String(), "--log.level", s.logLevel(), "--auth.tokens", s.tokens}, args...)
		p, err := launch(ctx, s, 2, name, args...)
		if err != nil {
			return "", errors.Join(err, stop(syscall.SIGTERM))
		}
		all = append(all, p)
		return p.addresses[0], nil
	}
	flowstore, err := service("flowstore", "--data", s.data)
	if err != nil {
		return nil, err
	}
	promptbuilder, err := service("promptbuilder", "--backends", s.backends, "--prompts", s.prompts)
	if err != nil {
		return nil, err
	}
	agent, err := service("agent", append(s.ofAgent("--"), "--backends", s.backends, "--promptbuilder", promptbuilder, "--flowstore", flowstore, "--data", s.agent, "--service_token", s.serviceToken)...)
	if err != nil {
		return nil, err
	}
	gateway, err := service("gateway", "--promptbuilder", promptbuilder, "--agent", agent, "--flowstore", flowstore, "--drain_grace", "100ms")
	if err != nil {
		return nil, err
	}
	out := &system{
		promptbuilder: promptbuilder, agent: agent, flowstore: flowstore, base: "http://" + gateway,
		stop: stop, stopTogether: func() error { return stopTogether(all) },
	}
	for _, p := range all {
		out.admin = append(out.admin, p.addresses[1])
	}
	return out, nil
}

// program is a running program of ours.
type program struct {
	name      string
	cmd       *exec.Cmd
	addresses []string
	// ended gives how it ended, once.
	ended chan error
}

// launch starts a program and waits until it has said its addresses. One that ends before is an error with its exit code
// and what it said. It is killed when ctx ends.
func launch(ctx context.Context, s settings, addresses int, name string, args ...string) (*program, error) {
	p := &program{name: name, cmd: exec.CommandContext(ctx, filepath.Join(programs, name), args...), ended: make(chan error, 1)}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var trouble strings.Builder
	p.cmd.Stdout, p.cmd.Stderr = out, io.MultiWriter(s.log, &trouble)
	err = p.cmd.Start()
	out.Close()
	if err != nil {
		return nil, errors.Join(err, stdout.Close())
	}
	told := make(chan []string, 1)
	go func() {
		defer stdout.Close()
		told <- readAddresses(io.TeeReader(stdout, s.log), addresses)
		_, _ = io.Copy(s.log, stdout) // until the program ends
	}()
	go func() { p.ended <- p.cmd.Wait() }()
	if p.addresses = <-told; len(p.addresses) < addresses {
		err := <-p.ended
		return nil, fmt.Errorf("%s: %w: %s", name, err, trouble.String())
	}
	return p, nil
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// readAddresses reads lines until n addresses stand in them, or there are no more.
func readAddresses(from io.Reader, n int) (found []string) {
	lines := bufio.NewScanner(from)
	for len(found) < n && lines.Scan() {
		for _, a := range address.FindAllString(lines.Text(), -1) {
			if len(found) == 0 || found[len(found)-1] != a {
				found = append(found, a)
			}
		}
	}
	return found[:min(len(found), n)]
}

// stop sends the program a signal and waits for its end, which must be with exit code 0 unless it was killed.
func (p *program) stop(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if err := <-p.ended; err != nil && sig != syscall.SIGKILL {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// stopTogether sends SIGTERM to all programs and then waits for their ends.
func stopTogether(all []*program) (err error) {
	for _, p := range all {
		err = errors.Join(err, p.cmd.Process.Signal(syscall.SIGTERM))
	}
	for _, p := range all {
		if end := <-p.ended; end != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, end))
		}
	}
	return err
}

// programs is the folder with the programs; empty before they are built.
var programs string

func removePrograms() {
	if programs != "" {
		_ = os.RemoveAll(programs)
	}
}

// build builds the programs once for all tests. It is not for tests that run beside others.
func build(t *testing.T) {
	t.Helper()
	if programs != "" {
		return
	}
	dir, err := os.MkdirTemp("", "tsumugi-programs-") //nolint:usetesting // It outlives the test.
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-o", dir}
	for _, name := range []string{"flowstore", "promptbuilder", "agent", "gateway", "tsumugi"} {
		args = append(args, "./services/"+name+"/cmd/"+name)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = testkit.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		t.Fatalf("building the programs: %v: %s", err, out)
	}
	programs = dir
}
