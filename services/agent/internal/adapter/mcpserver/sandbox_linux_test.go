package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper/keepertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// attempt is something that a server tries.
type attempt struct {
	Do   string `json:"do"`
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
}

// try does it, and says what it has read.
func try(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a attempt
	if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
		return nil, err
	}
	text, err := a.made()
	result := say(text)
	if err != nil {
		result = say(err.Error())
		result.IsError = true
	}
	return result, nil
}

func (a attempt) made() (string, error) {
	switch a.Do {
	case "numbers":
		return fmt.Sprint(os.Getpid(), os.Getppid()), nil
	case "read":
		f, err := os.Open(a.Path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, 1000))
		return string(text), err
	case "list":
		names, err := os.ReadDir(a.Path)
		return fmt.Sprint(names), err
	case "write":
		return "", os.WriteFile(a.Path, []byte("written"), 0o600)
	case "truncate":
		return "", os.Truncate(a.Path, 0)
	case "remove":
		return "", os.Remove(a.Path)
	case "mkdir":
		return "", os.Mkdir(a.Path, 0o700)
	case "rename":
		return "", os.Rename(a.Path, a.To)
	case "link":
		return "", os.Link(a.Path, a.To)
	case "symlink":
		return "", os.Symlink(a.Path, a.To)
	case "dial":
		c, err := net.DialTimeout("tcp", a.Path, 10*time.Second)
		if err != nil {
			return "", err
		}
		return "", c.Close()
	case "child": // a grandchild in a session of its own
		c := exec.Command("/bin/sh", "-c", `exec 2>&1; /bin/sh -c 'exec cat "$0"' "$0" & wait $!`, a.Path)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		said, err := c.Output()
		return string(said), err
	case "signal":
		var pid int
		if _, err := fmt.Sscan(a.Path, &pid); err != nil {
			return "", err
		}
		return "", syscall.Kill(pid, 0)
	}
	return "", errors.New("nobody knows how")
}

// try has the server try something.
func (r *rig) try(a attempt) (string, error) {
	r.Helper()
	args, err := json.Marshal(a)
	if err != nil {
		r.Fatal(err)
	}
	out, err := r.start(r.Context(), r.tool("try"), string(args))
	if err != nil {
		r.Fatalf("%+v: %v", a, err)
	}
	if out.Failed {
		return "", errors.New(string(out.Text))
	}
	return string(out.Text), nil
}

func confinement(t testing.TB) {
	t.Helper()
	if err := keeper.CanConfine(); err != nil && !testkit.Need("landlock") {
		t.Skip(err)
	}
}

// house is a folder with what is our own in it, and with what is not.
//
//	data/approver.token, audit-keys.yaml   all of data is hidden
//	conf/tokens.yaml, conf/plain.txt       tokens.yaml is hidden
//	etc/settings.yaml -> ../store/real.yaml, which is hidden by the link; store/plain.txt
//	etc/later/policies.yaml                is hidden, and is not there yet
//	open/                                  an ordinary folder, with a link and a file
type house struct {
	dir string
	own []string
}

const secret = "the secret"

func build(t testing.TB) house {
	t.Helper()
	h := house{dir: t.TempDir()}
	for _, dir := range []string{"data", "conf", "etc", "store", "open", "open/deep"} {
		if err := os.Mkdir(h.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"data/approver.token": secret, "data/audit-keys.yaml": secret, "conf/tokens.yaml": secret, "store/real.yaml": secret,
		"conf/plain.txt": "plain", "store/plain.txt": "plain", "open/plain.txt": "plain", "open/deep/plain.txt": "plain", "plain.txt": "plain",
	} {
		put(t, filepath.Dir(h.at(name)), filepath.Base(name), text)
	}
	for name, to := range map[string]string{"etc/settings.yaml": "../store/real.yaml", "open/link": h.at("data"), "link": "data"} {
		if err := os.Symlink(to, h.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	h.own = []string{h.at("data"), h.at("conf/tokens.yaml"), h.at("etc/settings.yaml"), h.at("etc/later/policies.yaml")}
	return h
}

func (h house) at(name string) string { return filepath.Join(h.dir, name) }

// A server reads nothing of what is our own, by whatever way, and can do all else that the user may. The same server without a sandbox does
// read it (field/review-agent.md S11).
func TestServersAreConfined(t *testing.T) {
	t.Parallel()
	confinement(t)
	h := build(t)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	c := program(t, "real")
	c.WorkDir = h.at("open")
	held := openApart(t, h.own, c)
	held.tool("try")
	c.Unconfined = true
	free := openApart(t, h.own, c)
	put(t, h.at("conf"), "tokens.yaml", secret) // Another file by now.
	if err := os.Mkdir(h.at("etc/later"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, h.at("etc/later"), "policies.yaml", secret)
	var server, parent int
	numbers, err := held.try(attempt{Do: "numbers"})
	if _, scanned := fmt.Sscan(numbers, &server, &parent); err != nil || scanned != nil {
		t.Fatal(err, scanned)
	}
	opened, err := os.Open(h.at("data/approver.token"))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	proc, keeperProc := fmt.Sprintf("/proc/%d", os.Getpid()), fmt.Sprintf("/proc/%d", parent)
	for name, tt := range map[string]attempt{
		"the approver secret":         {Do: "read", Path: h.at("data/approver.token")},
		"the keys of the audit":       {Do: "read", Path: h.at("data/audit-keys.yaml")},
		"the tokens":                  {Do: "read", Path: h.at("conf/tokens.yaml")},
		"settings by their link":      {Do: "read", Path: h.at("etc/settings.yaml")},
		"settings where they are":     {Do: "read", Path: h.at("store/real.yaml")},
		"what came to be":             {Do: "read", Path: h.at("etc/later/policies.yaml")},
		"by a link":                   {Do: "read", Path: h.at("link/approver.token")},
		"by another":                  {Do: "read", Path: h.at("open/link/approver.token")},
		"by the root of the agent":    {Do: "read", Path: proc + "/root" + h.at("data/approver.token")},
		"by a thread of the agent":    {Do: "read", Path: proc + fmt.Sprintf("/task/%d/root", os.Getpid()) + h.at("data/approver.token")},
		"by the root of the keeper":   {Do: "read", Path: keeperProc + "/root" + h.at("data/approver.token")},
		"by its own root":             {Do: "read", Path: "/proc/self/root" + h.at("data/approver.token")},
		"variables of the agent":      {Do: "read", Path: proc + "/environ"},
		"a descriptor of the agent":   {Do: "read", Path: fmt.Sprintf("%s/fd/%d", proc, opened.Fd())},
		"a descriptor of the keeper":  {Do: "read", Path: keeperProc + "/fd/0"},
		"by a grandchild":             {Do: "child", Path: h.at("data/approver.token")},
		"names of the data":           {Do: "list", Path: h.at("data")},
		"a hard link":                 {Do: "link", Path: h.at("data/approver.token"), To: h.at("open/hard")},
		"into the data":               {Do: "write", Path: h.at("data/new")},
		"a folder beside them":        {Do: "mkdir", Path: h.at("new")},
		"a file beside them":          {Do: "write", Path: h.at("conf/new.yaml")},
		"a link in place of settings": {Do: "rename", Path: h.at("etc/settings.yaml"), To: h.at("open/settings.yaml")},
		"the tokens out of there":     {Do: "rename", Path: h.at("conf/tokens.yaml"), To: h.at("open/tokens.yaml")},
		"no keys of the audit":        {Do: "truncate", Path: h.at("data/audit-keys.yaml")},
		"no tokens":                   {Do: "remove", Path: h.at("etc/later/policies.yaml")},
		"the data as another":         {Do: "rename", Path: h.at("data"), To: h.at("open/data")},
	} {
		if text, err := held.try(tt); err == nil {
			t.Errorf("%s: a server can %+v: %q", name, tt, text)
		}
		if strings.HasPrefix(tt.Path, keeperProc) || tt.Do == "rename" {
			continue // There is nobody any more, or it would change what others look at.
		}
		if text, err := free.try(tt); err != nil || tt.Do == "read" && !strings.HasSuffix(tt.Path, "environ") && text != secret {
			t.Errorf("%s: without a sandbox, which shows that the test can fail: %q, %v", name, text, err)
		}
		if tt.Do == "truncate" || tt.Do == "remove" {
			put(t, filepath.Dir(tt.Path), filepath.Base(tt.Path), secret)
		}
	}
	if _, err := held.try(attempt{Do: "read", Path: proc + "/mem"}); err == nil {
		t.Error("the memory of the agent can be opened")
	}
	if _, err := held.try(attempt{Do: "signal", Path: fmt.Sprint(parent)}); err == nil && keeper.Landlock() >= 6 {
		t.Error("the keeper can be sent a signal")
	}
	allowed(t, held, h, web.Addr().String())
	if warnings := free.logs.FilterMessageSnippet("runs in no sandbox").Len(); warnings != 1 {
		t.Errorf("a server without a sandbox is warned of %d times", warnings)
	}
	if warnings := held.logs.FilterMessageSnippet("runs in no sandbox").Len(); warnings != 0 {
		t.Errorf("a server in a sandbox is warned of %d times", warnings)
	}
}

// allowed looks for what a server may do.
func allowed(t *testing.T, r *rig, h house, address string) {
	t.Helper()
	for _, a := range []attempt{
		{Do: "read", Path: h.at("conf/plain.txt")},
		{Do: "read", Path: h.at("store/plain.txt")},
		{Do: "read", Path: h.at("plain.txt")},
		{Do: "write", Path: h.at("plain.txt")},
		{Do: "truncate", Path: h.at("plain.txt")},
		{Do: "read", Path: h.at("open/deep/plain.txt")},
		{Do: "list", Path: h.at("open")},
		{Do: "write", Path: "in-the-work-folder"},
		{Do: "mkdir", Path: h.at("open/new")},
		{Do: "rename", Path: h.at("open/plain.txt"), To: h.at("open/new/moved.txt")},
		{Do: "link", Path: h.at("open/new/moved.txt"), To: h.at("open/hard.txt")},
		{Do: "symlink", Path: "new", To: h.at("open/soft")},
		{Do: "remove", Path: h.at("open/hard.txt")},
		{Do: "read", Path: "/etc/passwd"},
		{Do: "read", Path: "/proc/self/status"},
		{Do: "read", Path: "/proc/1/status"},
		{Do: "write", Path: "/dev/null"},
		{Do: "child", Path: h.at("open/deep/plain.txt")},
		{Do: "dial", Path: address},
	} {
		if text, err := r.try(a); err != nil {
			t.Errorf("a server cannot %+v: %v", a, err)
		} else if a.Do == "child" && text != "plain" {
			t.Errorf("a child of a server reads %q", text)
		}
	}
}

// Whoever may open a disk reads all files that are on it.
func TestDisksAreHidden(t *testing.T) {
	t.Parallel()
	confinement(t)
	all, err := filepath.Glob("/dev/*")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(name string) bool {
		_, kind, ok := find(name)
		f, err := os.Open(name)
		if err == nil {
			f.Close()
		}
		return ok && kind == syscall.S_IFBLK && err == nil
	})
	if i < 0 {
		t.Skip("there is no disk that this user may read")
	}
	c := program(t, "real")
	held := open(t, c)
	if _, err := held.try(attempt{Do: "read", Path: all[i]}); err == nil {
		t.Errorf("%s can be read", all[i])
	}
	c.Unconfined = true
	if _, err := open(t, c).try(attempt{Do: "read", Path: all[i]}); err != nil {
		t.Errorf("without a sandbox: %v", err)
	}
}

// Privileges are given up in a sandbox.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	confinement(t)
	status, err := open(t, program(t, "real")).try(attempt{Do: "read", Path: "/proc/self/status"})
	if err != nil {
		t.Fatal(err)
	}
	left := "0000000000000000"
	if os.Geteuid() == 0 { // CAP_DAC_OVERRIDE and CAP_FOWNER
		left = "000000000000000a"
	}
	for _, want := range []string{"CapPrm:\t" + left, "CapEff:\t" + left, "NoNewPrivs:\t1"} {
		if !strings.Contains(status, want) {
			t.Errorf("no %q in\n%s", want, status)
		}
	}
}

// What cannot be held is not started, and Ready says what to do.
func TestNotConfined(t *testing.T) {
	t.Parallel()
	confinement(t)
	h := build(t)
	inData := program(t, "real")
	inData.WorkDir = h.at("link")
	own := program(t, "real")
	own.Command[0] = h.at("open/link/server")
	if err := os.Symlink("/bin/sh", h.at("conf/sh")); err != nil {
		t.Fatal(err)
	}
	put(t, h.at("data"), "server", "no program")
	for name, tt := range map[string]struct {
		server Config
		want   string
	}{
		"a work folder in the data": {inData, "its work_dir " + h.at("link") + " is or lies in what is this service's own, which it must not reach; `unconfined: true`"},
		"a program in the data":     {own, "its program " + own.Command[0] + " is or lies in what is"},
		"no program":                {Config{Name: "s", Command: []string{h.at("nothing")}, Tools: []string{All}}, "the program does not start: " + h.at("nothing") + " cannot be run: no such file or directory"},
	} {
		r := openApart(t, h.own, tt.server)
		r.names()
		if m := r.Ready()[0]; m.OK || !strings.Contains(m.Message, tt.want) {
			t.Errorf("%s: Ready says %+v", name, m)
		}
	}
	self := program(t).Command[0]
	for _, tt := range []struct{ how, want string }{
		{"confined", "the program does not start: the Linux kernel must have Landlock 3"},
		{"confined", "`unconfined: true` in its settings starts it"},
		{"unconfined", "ready"},
	} {
		said, err := exec.CommandContext(t.Context(), self, "lacking", tt.how, self, "real").CombinedOutput()
		if err != nil || !strings.Contains(string(said), tt.want) {
			t.Errorf("%s without Landlock: %s, %v", tt.how, said, err)
		}
	}
}

// lacking says how a server is on a system without Landlock.
func lacking(args []string) {
	if err := keepertest.Lack(keepertest.Landlock); err != nil {
		panic(err)
	}
	s, err := Open(context.Background(), []Config{{Name: "s", Command: args[1:], Tools: []string{All}, Unconfined: args[0] == "unconfined"}}, nil, zap.NewNop())
	if err != nil {
		panic(err)
	}
	defer s.Close()
	s.Wait(context.Background(), "ns", "")
	s.Tools("ns")
	s.Wait(context.Background(), "ns", "")
	if c := s.Ready()[0]; !c.OK {
		fmt.Println(c.Message)
		return
	}
	fmt.Println("ready")
}

// The program of the service may be run by a server, such as in tests, and not changed.
func TestOwnProgram(t *testing.T) {
	t.Parallel()
	confinement(t)
	c := program(t, "real")
	r := openApart(t, []string{c.Command[0]}, c)
	if _, err := r.try(attempt{Do: "read", Path: c.Command[0]}); err != nil {
		t.Error(err)
	}
	if _, err := r.try(attempt{Do: "rename", Path: c.Command[0], To: c.Command[0] + ".old"}); err == nil {
		t.Error("the program of the service can be moved")
	}
	if f, err := r.try(attempt{Do: "write", Path: c.Command[0] + ".new"}); err == nil {
		t.Errorf("something can be put beside the program of the service: %q", f)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, filepath.Join(dir, name))
		}
		return all
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "..2026"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"a/..data": "..2026", "a/tokens": "..data/tokens", "b": "a/..", "c": dir + "/a", "circle": "circle2", "circle2": "circle", "input": "/proc/self/fd/0",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"a/tokens":      at("a/tokens", "a/..data", "a/..2026/tokens"), // as Kubernetes has them
		"c/x/../y":      at("c", "a/y"),
		"b/a/z":         at("b", "a/z"),
		"not/there/yet": at("not/there/yet"),
		"input":         at("input"),
		"circle/x":      at("circle", "circle2"),
	} {
		got := places(filepath.Join(dir, "") + "/" + path)
		if path == "circle/x" {
			got = got[:min(2, len(got))]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := places("/"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("/: %q", got)
	}
}

// A folder with very many files is not gone through for ever, and the error says what to do.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	confinement(t)
	h := house{dir: t.TempDir()}
	for i := range maxSeen + 1 {
		if err := syscall.Mknod(h.at(fmt.Sprint(i)), syscall.S_IFREG|0o600, 0); err != nil {
			t.Fatal(err)
		}
	}
	r := openApart(t, []string{h.at("data")}, program(t, "real"))
	r.names()
	if m := r.Ready()[0].Message; !strings.Contains(m, "more than 20000 files and folders stand beside what is this service's own, the last of them in "+h.dir) {
		t.Errorf("Ready says %q", m)
	}
}
