package execchild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The programs of the tests are this file itself, as the roles of a program in its sandbox, and the shell, which no model gets.
func TestMain(m *testing.M) {
	if os.Args[0] != unhooked {
		if code, child := keeper.Child(Roles()); child {
			os.Exit(code)
		}
	}
	environment = []string{"GORACE=atexit_sleep_ms=0"} // Else each keeper takes a second to end.
	if role := roles[filepath.Base(os.Args[0])]; role != nil {
		if err := role(os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	testkit.Main(m)
}

// need skips a test where this kernel has no sandbox for programs.
func need(t testing.TB) {
	t.Helper()
	if v := keeper.Landlock(); v < keeper.MinLandlock && !testkit.Need("landlock") {
		t.Skipf("the kernel has Landlock %d; programs are run from %d on (Linux 6.2)", v, keeper.MinLandlock)
	}
}

// place is a work folder with its Exec, beside a data folder.
type place struct {
	*testing.T
	*Exec
	work, data string
}

func newPlace(t *testing.T, change func(*Config)) place {
	t.Helper()
	need(t)
	base := t.TempDir()
	p := place{T: t, work: filepath.Join(base, "work"), data: filepath.Join(base, "data")}
	for _, dir := range []string{p.work, p.data} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.put(filepath.Join(p.data, "secret"), "the secret of approvers")
	c := DefaultConfig()
	c.Programs = map[string]string{"sh": shell(t)}
	for name := range roles {
		c.Programs[name] = rolePath(t, base, name)
	}
	if change != nil {
		change(&c)
	}
	e, err := New(c, p.work, []string{p.data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	p.Exec = e
	if err := e.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func shell(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// rolePath is this test program under the name of a role.
func rolePath(t testing.TB, dir, name string) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.Link(own, path); err != nil {
		if err := os.Symlink(own, path); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func (p place) put(path, text string) {
	p.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func args(t testing.TB, cwd string, argv ...string) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"argv": argv, "cwd": cwd})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// run runs a program in the work folder.
func (p place) run(argv ...string) (string, bool) {
	p.Helper()
	return p.runIn(p.Context(), ".", argv...)
}

func (p place) runIn(ctx context.Context, cwd string, argv ...string) (string, bool) {
	p.Helper()
	out, err := p.Start(ctx, router.Intent{}, args(p, cwd, argv...))
	if err != nil {
		p.Fatalf("%q: %v", argv, err)
	}
	return string(out.Text), out.Failed
}

func TestEndings(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.Env = map[string]string{"B": "2", "A": "1 and more"} })
	p.put(filepath.Join(p.work, "no-program"), "text")
	for _, tt := range []struct {
		script, want string
		failed       bool
	}{
		{"true", "exit code 0; no output\n", false},
		{"echo a; echo b >&2; echo c", "exit code 0; output\na\nb\nc\n", false},
		{"echo no >&2; exit 3", "exit code 3; output\nno\n", true},
		{"kill -TERM $$", "ended by the signal SIGTERM; no output\n", true},
		{"echo hello >a.txt; cat a.txt", "exit code 0; output\nhello\n", false},
		{"cat; echo $#", "exit code 0; output\n2\n", false}, // no input
		{"./no-program", "exit code 126; output\nsh: 1: ./no-program: Permission denied\n", true},
		{"printf 'a\\377b'", "exit code 0; output\na\xffb", false},
		{"env | cut -d/ -f1 | sort", "exit code 0; output\nA=1 and more\nB=2\nPWD=\nTMPDIR=\n", false},
		{"ulimit -c; ulimit -n", "exit code 0; output\n0\n1024\n", false},
		{"umask", "exit code 0; output\n0022\n", false},
	} {
		got, failed := p.run("sh", "-c", tt.script, "sh", "x", "y z")
		if tt.script == "./no-program" { // Shells have their own words.
			got = strings.ReplaceAll(got, "sh: line 1:", "sh: 1:")
		}
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s: %q, %t, want %q", tt.script, got, failed, tt.want)
		}
	}
}

// What never began has no outcome that anybody must be asked about.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) {
		c.Programs["gone"] = c.Programs["sh"]
		c.Programs["text"] = filepath.Join(filepath.Dir(c.Programs["reach"]), "text")
		if err := os.WriteFile(c.Programs["text"], []byte("no program"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	p.config.Programs["gone"] = filepath.Join(p.work, "gone")
	p.put(filepath.Join(p.work, "file"), "")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		cwd  string
		argv []string
		want string
	}{
		{"no such program", t.Context(), ".", []string{"gone"}, "no such file"},
		{"no program at all", t.Context(), ".", []string{"text"}, "exec format error"},
		{"of no list", t.Context(), ".", []string{"/bin/sh", "-c", "true"}, `"/bin/sh", which is no program of the list; they are`},
		{"nothing", t.Context(), ".", nil, "argv is empty"},
		{"a zero byte", t.Context(), ".", []string{"sh", "a\x00b"}, "zero byte"},
		{"too long", t.Context(), ".", []string{"sh", strings.Repeat("a", 1<<20)}, "argument list too long"},
		{"no folder", t.Context(), "nowhere", []string{"sh"}, "no such file"},
		{"a file for a folder", t.Context(), "file", []string{"sh"}, "not a directory"},
		{"outside", t.Context(), "../data", []string{"sh"}, "escapes"},
		{"canceled before", canceled, ".", []string{"sh"}, "canceled"},
	} {
		_, err := p.Start(tt.ctx, router.Intent{}, args(t, tt.cwd, tt.argv...))
		var not *router.NotStartedError
		if !errors.As(err, &not) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// The output is cut by who tells it (tool.Output); what is kept is bounded, however much a program prints.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.Output = 4 << 10 })
	const printed = 8 << 20
	text, failed := p.run("sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' ä", printed))
	if failed || !strings.HasPrefix(text, "exit code 0; of ") || len(text) < 4<<10 || len(text) > 5<<10 {
		t.Fatalf("%d bytes: %.80q", len(text), text)
	}
	d := p.Definition()
	if d.Limit != 4<<10 {
		t.Fatalf("the tool has the limit %d", d.Limit)
	}
	if r := tool.Output(tool.Executed, []byte(text), d.Limit); !r.Cut || len(r.Text) > d.Limit {
		t.Errorf("told as %d bytes, cut: %t", len(r.Text), r.Cut)
	}
}

// alive says which of the processes whose numbers are in a file are still there.
func alive(t testing.TB, list string) (all []int) {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Error(err)
	}
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Error(err)
			continue
		}
		if unix.Kill(pid, 0) == nil {
			all = append(all, pid)
		}
	}
	return all
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(30 * time.Second)
	for !so() {
		select {
		case <-ticker.C:
		case <-late:
			t.Errorf("it never came: %s", what)
			return
		}
	}
}

// brood starts a child, a grandchild that its parent leaves, and one in a session of its own, and writes their numbers to a file.
const brood = `
sleep 600 & echo $! >>pids
sh -c 'sleep 600 & echo $! >>pids'
setsid sh -c 'echo $$ >>pids; sleep 600 & echo $! >>pids; wait' &
while [ $(wc -l <pids) -lt 4 ]; do :; done
`

// Whatever a program has started ends with it: when its time is over, when the call is canceled, and when it ends by itself
// (cases/agent.md c17).
func TestAgent17NothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script, want string
		limit              time.Duration
		cancel             bool
	}{
		{name: "its time is over", script: brood + "sleep 600", limit: 2 * time.Second, want: "it took longer than the"},
		{name: "canceled", script: brood + "sleep 600", cancel: true, want: "the call was canceled"},
		{name: "it ends", script: brood + "exit 0", want: "exit code 0; 4 processes that it had left running were ended; no output"},
		{name: "it ignores what can be ignored", script: "trap '' TERM INT HUP; " + brood + "while :; do sleep 1; done", cancel: true, want: "the call was canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, nil)
			pids := filepath.Join(p.work, "pids")
			p.put(pids, "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.limit > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.limit)
				defer cancel()
			}
			done := make(chan struct{})
			var text string
			go func() {
				defer close(done)
				text, _ = p.runIn(ctx, ".", "sh", "-c", tt.script)
			}()
			if tt.cancel {
				eventually(t, "four processes", func() bool { return len(alive(t, pids)) == 4 })
				cancel()
			}
			select {
			case <-done:
			case <-time.After(30 * time.Second):
				t.Fatal("the call does not end")
			}
			if left := alive(t, pids); len(left) > 0 {
				t.Errorf("still there: %v", left)
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("told %q, want %q", text, tt.want)
			}
		})
	}
}

// A process that is killed cannot end anything: what it had started ends all the same.
func TestKilledAgentLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	pids := filepath.Join(p.work, "pids")
	p.put(pids, "")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	agent := exec.Command(own)
	agent.Args, agent.Stderr = []string{"agent", p.work, shell(t), brood + "sleep 600"}, os.Stderr
	agent.Env = append(os.Environ(), "TMPDIR="+temporary)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "four processes", func() bool { return len(alive(t, pids)) == 4 })
	if err := agent.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := agent.Wait(); err == nil {
		t.Error("the agent was not killed")
	}
	eventually(t, "the end of all that it had started", func() bool { return len(alive(t, pids)) == 0 })
	eventually(t, "the end of the program's own folder", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
}

func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.Processes = 10 })
	text, failed := p.run("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do setsid sleep 600 & done; wait")
	if !failed || !strings.Contains(text, "it had more than the 10 processes and threads that it may") {
		t.Errorf("%q", text)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(c *Config) { c.CPU, c.FileSize, c.Memory = time.Second, 64<<10, 640<<20 }) // The race detector needs some of it, before the program begins.
	for _, tt := range []struct{ name, script, want string }{
		{"processor", "while :; do :; done", "ended by the signal SIGXCPU"},
		{"a file", "exec head -c 1000000 /dev/zero >large", "ended by the signal SIGXFSZ"},
	} {
		if text, failed := p.run("sh", "-c", tt.script); !failed || !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
	if info, err := os.Stat(filepath.Join(p.work, "large")); err != nil || info.Size() > 64<<10 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if text, failed := p.run("sh", "-c", "head -c 900000000 /dev/zero | tail -c 800000000 | head -c 1"); failed || !strings.Contains(text, "memory") {
		t.Errorf("memory: %.200q", text)
	}
}

// The sandbox, seen from within: what a program may do, and what it may not.
func TestSandbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	outside := filepath.Join(filepath.Dir(p.work), "outside.txt")
	p.put(outside, "outside")
	p.put(filepath.Join(p.work, "in.txt"), "inside")
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(p.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"to-secret": filepath.Join(p.data, "secret"), "to-data": p.data, "to-outside": outside} {
		if err := os.Symlink(to, filepath.Join(p.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	all, script := []struct {
		script string
		ok     bool
	}{
		{"cat in.txt && echo x >a/new.txt && mv a/new.txt b/new.txt && mkdir c && rmdir c && ln in.txt a/hard && rm a/hard", true},
		{`echo x >"$TMPDIR/x" && cat "$TMPDIR/x" && mv "$TMPDIR/x" back.txt`, true},
		{"cat /etc/passwd >/dev/null && ls /usr >/dev/null && head -c 4 /dev/urandom >/dev/null", true},
		{"cp /bin/true ./own && ./own", true}, // Whatever it runs is in the same sandbox.
		{"cat " + p.data + "/secret", false},
		{"cat to-secret", false},
		{"ls to-data", false},
		{"ls " + p.data, false},
		{"echo x >to-outside", false},
		{"echo x >" + outside, false},
		{"rm " + outside, false},
		{"truncate -s 0 " + outside, false},
		{"mv in.txt " + p.data + "/in.txt", false},
		{"ln " + outside + " hard", false},
		{"mkdir " + p.data + "/x", false},
		{"ls /", false},
		{"ls /etc", false},
		{"ls " + os.TempDir(), false},
		{"cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ", false},
		{"cat /proc/1/cmdline", false},
		{"ls /proc", false},
		{"echo x >/usr/x", false},
		{"mknod device c 1 5", false},
		{"mount -t tmpfs none a", false},
		{"unshare -Ur true && unshare -Ur mount -t tmpfs none a", false},
		{"kill -0 " + strconv.Itoa(os.Getpid()), keeper.Landlock() < 6},
	}, ""
	for i, tt := range all {
		script += fmt.Sprintf("( %s ) && echo did %d.; true\n", tt.script, i)
	}
	text, _ := p.run("sh", "-c", script)
	for i, tt := range all {
		if strings.Contains(text, fmt.Sprintf("did %d.", i)) != tt.ok {
			t.Errorf("%s: want %t in\n%s", tt.script, tt.ok, text)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
		t.Errorf("outside there is %q, %v", text, err)
	}
	text, _ = p.run("state")
	for _, want := range []string{"descriptors 0 1 2\n", "no new privileges 1\n", "seccomp 2\n", "session leader true\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("a program finds %s, want %q", text, want)
		}
	}
	left := "capabilities 0\n"
	if os.Geteuid() == 0 { // CAP_DAC_OVERRIDE and CAP_FOWNER
		left = "capabilities a\n"
	}
	if !strings.Contains(text, left) {
		t.Errorf("a program has %s", text)
	}
}

// A program reaches nobody: neither a port of this machine, where an approver's calls are taken, nor a socket with a name
// (field/review-agent.md S11).
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	listen := func(network, address string) (net.Listener, chan struct{}) {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		reached := make(chan struct{}, 100)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				reached <- struct{}{}
				c.Close()
			}
		}()
		return l, reached
	}
	tcp, overTCP := listen("tcp", "127.0.0.1:0")
	for _, allowed := range []bool{false, true} {
		p := newPlace(t, func(c *Config) { c.AllowNetwork = allowed })
		local, overUnix := listen("unix", filepath.Join(p.work, "socket"))
		text, failed := p.run("reach", tcp.Addr().String(), local.Addr().String())
		if allowed {
			if !strings.Contains(text, "tcp reached") {
				t.Errorf("with the network: %s", text)
			}
			<-overTCP
			if text, failed := p.run("sh", "-c", "mkdir a b && echo x >a/new && mv a/new b/new && ln b/new a/hard"); failed {
				t.Errorf("what a program may do in its folder does not hang on the network: %s", text)
			}
			continue
		}
		if !failed || len(overTCP)+len(overUnix) != 0 || strings.Contains(text, "reached") {
			t.Errorf("without: %s", text)
		}
		if !strings.Contains(text, "pair works") {
			t.Errorf("a pair of sockets of its own: %s", text)
		}
	}
}

// What an approval digests changes with what a program runs in, and with nothing else (field/review-agent.md S26).
func TestProcess(t *testing.T) {
	t.Parallel()
	env := func(value string) func(*Config) {
		return func(c *Config) { c.Env = map[string]string{"TOKEN": value, "A": "1"} }
	}
	p := newPlace(t, env("x"))
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(p.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(p.work, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.data, filepath.Join(p.work, "out")); err != nil {
		t.Fatal(err)
	}
	in := func(cwd string) string {
		process, err := p.Process(t.Context(), args(t, cwd, "sh"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(process.Environment, []string{"A", "TMPDIR", "TOKEN"}) {
			t.Errorf("variables %q", process.Environment)
		}
		for _, want := range []string{"landlock", "no network", "runs " + shell(t)} {
			if !strings.Contains(process.Profile, want) {
				t.Errorf("the profile %q does not tell %q", process.Profile, want)
			}
		}
		return process.Folder
	}
	if in("link") != in("a") || in("a") == in("b") || in(".") == in("a") {
		t.Error("a folder is not told by what it is")
	}
	if _, err := p.Process(t.Context(), args(t, "out", "sh")); err == nil {
		t.Error("a link that leads out was followed")
	}
	if text, failed := p.runIn(t.Context(), "link", "sh", "-c", "echo x >here"); failed {
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(p.work, "a", "here")); err != nil {
		t.Error(err)
	}
	other := p.config
	other.Env = map[string]string{"TOKEN": "y", "A": "1"}
	if (&Exec{config: other}).profile("sh") != p.profile("sh") {
		t.Error("a profile tells values of variables")
	}
	other.Memory++
	if (&Exec{config: other}).profile("sh") == p.profile("sh") {
		t.Error("other limits have the same profile")
	}
}

// The folder in which a program runs is the one that was opened, whatever has its name by then.
func TestFolderByDescriptor(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(p.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, _, err := p.open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(p.work, "a"), unix.AT_FDCWD, filepath.Join(p.work, "b"), unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	out, err := p.start(t.Context(), p.request(call{Argv: []string{"sh", "-c", "echo x >here"}}), dir)
	if err != nil || out.Failed {
		t.Fatalf("%s, %v", out.Text, err)
	}
	if _, err := os.Stat(filepath.Join(p.work, "b", "here")); err != nil {
		t.Error(err)
	}
}

// roles are what this program does in the sandbox, by the name that it is run under; agent is one outside that is to be killed.
var roles = map[string]func(args []string) error{"reach": reach, "state": state, "agent": agent, "lacking": lacking, unhooked: lacking}

// reach tries every way to a listener that there is.
func reach(to []string) error {
	tried := map[string]func() error{
		"tcp":  func() error { return dial("tcp", to[0]) },
		"udp":  func() error { return dial("udp", to[0]) },
		"unix": func() error { return dial("unix", to[1]) },
		"raw":  func() error { return made(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)) },
		"vsock": func() error {
			return made(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
		},
		"datagrams": func() error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			return made(pair[0], err)
		},
		"ring": func() error {
			var parameters [120]byte
			fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		},
	}
	var wrong []error
	for name, try := range tried {
		if err := try(); err == nil {
			fmt.Println(name, "reached")
		} else {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	if _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		fmt.Println("pair works")
	}
	return errors.Join(wrong...)
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

func made(fd int, err error) error {
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// state tells what a program is given. It asks the kernel, since it may not read /proc.
func state([]string) error {
	fmt.Print("descriptors")
	for fd := range 64 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fmt.Print(" ", fd)
		}
	}
	fmt.Println()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	fmt.Printf("capabilities %x\n", uint64(have[0].Permitted|have[0].Inheritable)|uint64(have[1].Permitted|have[1].Inheritable)<<32)
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	filter, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	fmt.Printf("no new privileges %d\nseccomp %d\nsession leader %t\n", privileges, filter, session == os.Getpid())
	return nil
}

// agent runs a script and never stops it.
func agent(args []string) error {
	c := DefaultConfig()
	c.Programs = map[string]string{"sh": args[1]}
	e, err := New(c, args[0], nil)
	if err != nil {
		return err
	}
	out, err := e.Start(context.Background(), router.Intent{}, fmt.Appendf(nil, `{"argv":["sh","-c",%q]}`, args[2]))
	return errors.Join(err, fmt.Errorf("it ended: %s", out.Text))
}

// Without its keeper nobody knows what is left of a program, and that is told. The program itself ends with the keeper.
func TestKilledKeeper(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	pids := filepath.Join(p.work, "pids")
	p.put(pids, "")
	go func() {
		eventually(t, "the program", func() bool { return len(alive(t, pids)) == 1 })
		for _, leader := range alive(t, pids) {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", leader))
			fields := strings.Fields(string(status))
			if err != nil || len(fields) < 4 {
				t.Errorf("%q, %v", status, err)
				return
			}
			if keeper, err := strconv.Atoi(fields[3]); err != nil || unix.Kill(keeper, unix.SIGKILL) != nil {
				t.Errorf("the keeper %q is not killed: %v", fields[3], err)
			}
		}
	}()
	dir, _, err := p.open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	r := p.request(call{Argv: []string{"sh", "-c", "echo $$ >>pids; while :; do sleep 1; done"}})
	r.Temp = t.TempDir() // Nobody takes away what the keeper made in it.
	_, err = p.start(t.Context(), r, dir)
	var not *router.NotStartedError
	if err == nil || errors.As(err, &not) || !strings.Contains(err.Error(), "what is left of the program is not known") {
		t.Errorf("%v", err)
	}
	eventually(t, "the end of the program", func() bool { return len(alive(t, pids)) == 0 })
}
