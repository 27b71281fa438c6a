package workfolder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// secret is what no reply may ever hold.
const secret = "SECRET OF THE OUTSIDE"

// prison is a work folder full of ways out, beside a decoy tree that nothing may read or change.
type prison struct {
	work
	// outside and inside are the decoy tree and what is protected in the folder.
	before map[string]string
}

func newPrison(t *testing.T) *prison {
	t.Helper()
	p := &prison{work: newWork(t)}
	for _, name := range []string{"v.txt", "decoy", "sub/w.txt", "sub/run.sh"} {
		write(t, filepath.Join(p.outside, name))
	}
	write(t, p.dir+"_evil/v.txt") // A sibling whose name begins like the folder's.
	write(t, p.dir+"space.txt")
	for _, name := range []string{".git/config", ".git/hooks/pre-commit", "sub/.git/config", "sub/deep/.ssh/id", ".env", ".env.local", "sub/.envrc", ".GIT2/.Git/config"} {
		write(t, filepath.Join(p.dir, name))
	}
	p.mend()
	if os.Geteuid() == 0 {
		_ = syscall.Mknod(filepath.Join(p.dir, "device"), syscall.S_IFCHR|0o666, 1<<8|5) // /dev/zero, where it may be made.
	}
	p.before = p.decoys()
	return p
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mend makes the ways out, and what may be changed, anew where they are not there.
func (p *prison) mend() {
	p.Helper()
	at := func(name string) string { return filepath.Join(p.dir, name) }
	for name, target := range map[string]string{
		"out": p.outside, "out2": "../outside", "notes.md": p.outside + "/v.txt", "draft.txt": p.outside + "/new.txt", "rel.txt": "../outside/v.txt",
		"dangling": "../outside/none", "nowhere": "not/there", "loop": "loop", "chain": "chain2", "chain2": "sub/../../outside", "up": "..", "here": ".", "root": "/",
		"gitlink": ".git", "envlink": ".env", "subgit": "sub/.git", "hidden": "sub/./deep/.ssh", "good": "sub/deep", "proc": "/proc/self/root",
		"abs": p.dir + "/sub", "evil": "../work_evil", "slash": "/sub",
	} {
		if _, err := os.Lstat(at(name)); err != nil {
			_ = os.Remove(at(name))
			if err := os.Symlink(target, at(name)); err != nil {
				p.Fatal(err)
			}
		}
	}
	if _, err := os.Lstat(at("h.txt")); err != nil {
		if err := os.Link(filepath.Join(p.outside, "v.txt"), at("h.txt")); err != nil {
			p.Fatal(err)
		}
	}
	if _, err := os.Lstat(at("pipe")); err != nil {
		if err := syscall.Mkfifo(at("pipe"), 0o666); err != nil {
			p.Fatal(err)
		}
	}
	for _, name := range []string{"a.txt", "sub/b.txt", "sub/deep/c.txt"} {
		if _, err := os.Lstat(at(name)); err != nil {
			p.put(name, "mine")
		}
	}
}

// decoys is all that may not change: what is outside, and what is protected inside.
func (p *prison) decoys() map[string]string {
	p.Helper()
	all := map[string]string{}
	for _, dir := range []string{p.outside, p.dir + "_evil", p.dir + "/.git", p.dir + "/sub/.git", p.dir + "/sub/deep/.ssh", p.dir + "/.GIT2"} {
		for name, about := range tree(p.T, dir) {
			all[filepath.Join(dir, name)] = about
		}
	}
	for _, name := range []string{p.dir + "space.txt", p.dir + "/.env", p.dir + "/.env.local", p.dir + "/sub/.envrc"} {
		data, err := os.ReadFile(name)
		all[name] = fmt.Sprint(string(data), err)
	}
	names, err := os.ReadDir(p.base)
	if err != nil {
		p.Fatal(err)
	}
	for _, n := range names {
		all["beside: "+n.Name()] = n.Type().String()
	}
	return all
}

func (p *prison) unchanged(what string) {
	p.Helper()
	if diff := cmp.Diff(p.before, p.decoys()); diff != "" {
		p.Fatalf("%s has changed what is outside or protected (-before +after):\n%s", what, diff)
	}
}

// sees fails where a reply holds what is outside or protected.
func (p *prison) sees(what string, texts ...string) {
	p.Helper()
	for _, text := range texts {
		if strings.Contains(text, secret) || strings.Contains(text, "pre-commit") {
			p.Fatalf("%s gives what is outside or protected: %q", what, text)
		}
	}
}

// look reads by a path in every way, and gives the errors.
func (p *prison) look(ctx context.Context, name string) []error {
	p.Helper()
	c, read := p.Read(ctx, name, folder.ReadOptions{HardLinks: true})
	l, list := p.List(ctx, name, "")
	e, stat := p.Stat(ctx, name)
	p.sees("reading "+name, string(c.Text))
	for _, e := range append(l.Entries, e) {
		if strings.EqualFold(e.Name, ".git") || strings.HasPrefix(e.Name, ".env") || e.Name == ".ssh" || e.Name == "decoy" {
			p.Fatalf("%q lists %q", name, e.Name)
		}
	}
	return []error{read, list, stat}
}

func (p *prison) searches(ctx context.Context, name string) error {
	p.Helper()
	f, err := p.Search(ctx, folder.Query{Text: "SECRET", Under: name})
	if len(f.Matches) > 0 {
		p.Fatalf("a search under %q finds %+v", name, f.Matches)
	}
	return err
}

var content = []byte("written by a fuzzer")

func changes(name, other string) []folder.Change {
	return []folder.Change{
		{Op: folder.Write, Path: name, Content: content}, {Op: folder.Create, Path: name, Content: content}, {Op: folder.Create, Path: name + "/x", Content: content},
		{Op: folder.Move, Path: "a.txt", To: name}, {Op: folder.Move, Path: name, To: other}, {Op: folder.Delete, Path: name},
	}
}

// escapes are the paths of the notes and the cases that lead out, or to what is protected: each is refused in every use.
var escapes = []string{
	"../outside/v.txt", "../work_evil/v.txt", "./../outside/v.txt", "sub/../../outside/v.txt", "sub/../a.txt", "..", "sub/..", "../work/a.txt", "...././../outside/v.txt",
	"/etc/passwd", "//etc/passwd", "/", "//", "~", "~/x", "C:/x", "c:x", `..\outside\v.txt`, `sub\b.txt`, "a\x00.txt", "a.txt\x00/../../outside", "\xff.txt", "",
	"out/v.txt", "out2/v.txt", "out2/sub/w.txt", "out/../outside/v.txt", "chain/v.txt", "chain2/v.txt", "up/outside/v.txt", "up/work_evil/v.txt", "root/etc/passwd", "evil/v.txt", "proc/etc/passwd",
	"abs/b.txt", "slash/b.txt", "loop/x", "nowhere/x.txt", "here/out/v.txt", "here/here/up/outside/v.txt",
	".git", ".git/config", ".git/hooks/pre-commit", ".git/new", ".GIT/config", ".Git/config", ".git/", ".git//config", "./.git/config", "sub/.git/config", "sub/.GIT/new", ".git./config", ".git /config",
	".git::$INDEX_ALLOCATION/config", "GIT~1/config", "git~1", ".g\u200cit/config", ".gi\u00adt/config", "\u2024git/config", "．ｇｉｔ/config", ".\u202egit/config", ".gıt/../.git/config",
	".env", ".ENV", ".env.local", ".env.", "sub/.envrc", ".Env/x", "sub/deep/.ssh/id", "sub/deep/.ſsh/id", ".ssh/new", ".GIT2/.Git/config",
	"gitlink/config", "gitlink/new", "subgit/config", "hidden/id", "here/.git/config", "good/.ssh/id", "here/gitlink/config",
	folder.StagedPrefix + "0000000000000000", "sub/" + folder.StagedPrefix + "x", ".Tsumugi-Staged-x", "a\nb", "a\x1b[31mb", "a\u2028b", "pipe/x", "device/x",
	strings.Repeat("a", folder.MaxPath+1), strings.Repeat("a/", folder.MaxDepth+1) + "a", strings.Repeat("x", folder.MaxName+1),
}

// ends are paths whose last name is a link, a pipe or the like: they are told of, and only a link may be deleted.
var ends = []string{"notes.md", "draft.txt", "rel.txt", "dangling", "nowhere", "loop", "out", "chain", "up", "root", "gitlink", "envlink", "h.txt", "pipe", "device"}

// field/agent.md C7 to C10, field/review-agent.md S2, S21, S24, cases/agent.md 25 and 26: no path of the notes leads out or to what is protected, in
// any use; also where only its end is a link, a hard link, a pipe or a device.
func TestAgent25And26Escapes(t *testing.T) {
	t.Parallel()
	p := newPrison(t)
	for _, name := range escapes {
		for i, err := range append(p.look(t.Context(), name), p.searches(t.Context(), name)) {
			if err == nil {
				t.Errorf("read %d of %.60q is not refused", i, name)
			}
		}
		for _, c := range changes(name, "to.txt") {
			var refusal *folder.Refusal
			if _, err := p.quietly(c); !errors.As(err, &refusal) {
				t.Errorf("%s %.60q: %v", c.Op, name, err)
			}
		}
		p.unchanged(fmt.Sprintf("%.60q", name))
	}
	for _, name := range ends {
		if c, err := p.Read(t.Context(), name, folder.ReadOptions{HardLinks: true}); err == nil {
			t.Errorf("%q is read: %q", name, c.Text)
		}
		for _, c := range changes(name, "to.txt") {
			_, lack := os.Lstat(filepath.Join(p.dir, name))
			out, err := p.quietly(c)
			link := name != "h.txt" && name != "pipe" && name != "device"
			if deleted := c.Op == folder.Delete && link; deleted != (err == nil && out.Result == folder.Done) && lack == nil {
				t.Errorf("%s %q: %+v, %v", c.Op, name, out, err)
			}
			p.mend()
		}
		p.unchanged(name)
	}
}

// A path that is denied is answered alike whether it exists or not (field/review-agent.md S21).
func TestDeniedAlike(t *testing.T) {
	t.Parallel()
	p := newPrison(t)
	for _, pair := range [][2]string{
		{".git/config", ".git/nothing"}, {"sub/.git/config", "sub/.git/nothing"}, {".env", ".env.nothing"}, {"sub/.git/config", "nowhere2/.git/config"},
		{"out/v.txt", "out/nothing"}, {"out2/sub/w.txt", "out2/nothing/w.txt"}, {"gitlink/config", "gitlink/nothing"}, {"notes.md", "draft.txt"}, {"rel.txt", "dangling"},
	} {
		there, not := p.look(t.Context(), pair[0]), p.look(t.Context(), pair[1])
		for i := range there {
			a, b := "told", "told"
			if there[i] != nil {
				a = strings.ReplaceAll(there[i].Error(), folder.Show(pair[0]), "PATH")
			}
			if not[i] != nil {
				b = strings.ReplaceAll(not[i].Error(), folder.Show(pair[1]), "PATH")
			}
			if a != b {
				t.Errorf("%q: %s; %q: %s", pair[0], a, pair[1], b)
			}
		}
	}
}

// atoms are what paths of the fuzzer are made of.
var atoms = slices.Concat(
	[]string{"..", ".", "", "a.txt", "b.txt", "c.txt", "v.txt", "w.txt", "sub", "deep", "work", "work_evil", "outside", "new", "config", "hooks", "id", "日本語", "か\u3099", "が", "x.", "x ", " x", "~", "C:"},
	[]string{".git", ".GIT", ".git.", "git~1", ".g\u200cit", ".env", ".env.x", ".ssh", ".Ssh", "\x00", "\\", "..\\..", "\u202e", "\xff", "…", "%2e%2e", "%00", "....", ". .", "..\u200b", "．．", "／", "\t", "CON"},
	[]string{folder.StagedPrefix + "0123456789abcdef", strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("d/", 40)},
	ends, []string{"out2", "chain2", "here", "good", "subgit", "hidden", "proc", "abs", "evil"},
)

func fuzzed(random *rand.Rand) string {
	var b strings.Builder
	for n := range 1 + random.IntN(6) {
		if n > 0 && random.IntN(12) > 0 {
			b.WriteByte('/')
		}
		b.WriteString(atoms[random.IntN(len(atoms))])
	}
	if random.IntN(20) == 0 {
		return "/" + b.String()
	}
	return b.String()
}

// 100,000 paths (20,000 of them with the race detector) that a generator makes of the same parts, each read, listed and planned, and some hundred of them
// carried out (4000 with TSUMUGI_LONG): nothing outside and nothing protected is read or changed.
func TestFuzzedPaths(t *testing.T) {
	t.Parallel()
	p := newPrison(t)
	random := rand.New(rand.NewPCG(25, 26))
	counts := map[string]int{}
	carried := 0
	paths, most := 100_000, many(200, 4000)
	if testkit.Race {
		paths = 20_000
	}
	for n := range paths {
		name, other := fuzzed(random), fuzzed(random)
		p.look(t.Context(), name)
		if n%100 == 0 {
			_ = p.searches(t.Context(), name)
		}
		c := changes(name, other)[n%6]
		plan, err := p.plan(c)
		var refusal *folder.Refusal
		switch {
		case err == nil:
			counts["planned"]++
			p.sees("planning "+name, plan.Diff)
		case errors.As(err, &refusal):
			counts[string(refusal.Code)]++
		default:
			t.Fatalf("%s %q: %v", c.Op, name, err)
		}
		if err == nil && carried < most {
			carried++
			if out, err := p.quietly(c); err != nil || out.Result != folder.Done {
				t.Fatalf("%+v was planned: %+v, %v", c, out, err)
			}
			p.mend()
		}
		if n%5000 == 0 {
			p.unchanged("the fuzzer")
		}
	}
	p.unchanged("the fuzzer")
	t.Logf("%d paths: %v; %d changes carried out", paths, counts, carried)
	for _, code := range []folder.Code{folder.BadPath, folder.Protected, folder.Reserved, folder.Outside, folder.WrongType, folder.Missing, folder.Exists, folder.HardLink} {
		if counts[string(code)] == 0 {
			t.Errorf("nothing was refused as %s: the generator does not reach it (%v)", code, slices.Sorted(maps.Keys(counts)))
		}
	}
	if carried < most {
		t.Errorf("only %d changes were carried out", carried)
	}
}

// Nothing stays open, whatever a path leads to and however a change ends. Not beside other tests: it counts what the process has open.
func TestNothingStaysOpen(t *testing.T) {
	p := newPrison(t)
	for range 2 {
		before := opened(t)
		for _, name := range append(slices.Concat(escapes, ends), "sub/b.txt", "good/c.txt", ".", "new/x.txt") {
			p.look(t.Context(), name)
			_ = p.searches(t.Context(), name)
			for _, c := range changes(name, "sub/to.txt") {
				if out, err := p.quietly(c); err == nil && out.Result == folder.Unknown {
					t.Errorf("%+v: %+v", c, out)
				}
				p.mend()
			}
		}
		if after := opened(t); after != before {
			t.Errorf("%d files were open, and then %d", before, after)
		}
	}
}

func opened(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// What is mounted in the folder is outside of it.
func TestMountIsOutside(t *testing.T) {
	t.Parallel()
	p := newPrison(t)
	at := filepath.Join(p.dir, "mounted")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "--bind", p.outside, at).CombinedOutput(); err != nil {
		if testkit.Need("mount") {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("nothing may be mounted here: run this as root: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", at).Run() })
	_, err := p.Read(t.Context(), "mounted/v.txt", folder.ReadOptions{})
	refused(t, err, folder.Outside)
	_, err = p.List(t.Context(), "mounted", "")
	refused(t, err, folder.Outside)
	for _, c := range changes("mounted/n.txt", "to.txt") {
		_, err = p.quietly(c)
		refused(t, err, folder.Outside)
	}
	if f, err := p.Search(t.Context(), folder.Query{Text: "SECRET", Under: "."}); err != nil || len(f.Matches) > 0 || f.Skipped["other disks"] != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}
