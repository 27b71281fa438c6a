package router

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Whatever path a call of whatever tool names, with every change allowed unasked: nothing outside of the folder is read or changed (I8),
// every answer has a row that the record takes, and each effect has its INTENT (I3).
func TestAnyPathStaysInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, allowAll, deny("secret/**"))
	victim := filepath.Join(w.outside, "v.txt")
	w.ok(os.WriteFile(victim, []byte("victim needle"), 0o644))
	for _, dir := range []string{"d/e", "secret", ".git"} {
		w.put(dir+"/a.txt", "inside")
	}
	w.put("secret/s.txt", "hidden needle")
	for name, to := range map[string]string{"out": w.outside, "up": "..", "f.txt": victim, "way": "secret", "in": "d", "loop": "loop", "git": ".git"} {
		w.ok(os.Symlink(to, filepath.Join(w.dir, name)))
	}
	part := rapid.SampledFrom([]string{
		"", ".", "..", "d", "e", "a.txt", "v.txt", "s.txt", "n.txt", "out", "up", "outside", "f.txt", "way", "in", "loop", "git", ".git", ".GIT", ".git ", "secret", "work",
		"~", "C:", `..\outside`, "\u200b..", "．．", "a.txt\x00", "/", "/skills", "/etc", w.outside,
	})
	reads, changed := 0, 0
	try := func(t interface{ Fatalf(string, ...any) }, c Call) {
		j := w.judge(c)
		rows(w, j.Entries("")...)
		begun := len(w.intents)
		if j.Reads() && j.Verdict() == policy.Allow {
			r := w.ReadAll(w.Context(), 1, j)[0]
			if strings.Contains(r.Result.Text, "victim") || strings.Contains(r.Result.Text, "hidden") {
				t.Fatalf("%s: %s", c.Args, r.Result.Text)
			}
			reads++
		} else if ran := w.run(j, Approved{}); ran.State == Executed {
			if changed++; len(w.intents) != begun+1 {
				t.Fatalf("%s was done without INTENT", c.Args)
			}
		}
	}
	try(t, call(tool.Read, map[string]any{"path": "d/e/a.txt"}))
	try(t, write("d/e/a.txt", "new"))
	if reads != 1 || changed != 1 {
		t.Fatalf("%d reads, %d changes: what may be done is not", reads, changed)
	}
	rapid.Check(t, func(t *rapid.T) {
		path := func(label string) string {
			return strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, label), "/")
		}
		one := path("path")
		try(t, rapid.SampledFrom([]Call{
			write(one, "new"), call(tool.Create, map[string]any{"path": one, "content": "new"}), call(tool.Delete, map[string]any{"path": one}),
			call(tool.Move, map[string]any{"source": one, "destination": path("to")}), call(tool.Read, map[string]any{"path": one}),
			call(tool.List, map[string]any{"path": one, "depth": 4}), call(tool.Search, map[string]any{"path": one, "query": "needle"}),
		}).Draw(t, "call"))
	})
	entries, err := os.ReadDir(w.base)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"outside", "skills", "work"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	inside, err := os.ReadDir(w.outside)
	if err != nil || len(inside) != 1 || contentOf(t, victim) != "victim needle" {
		t.Errorf("%v, %v", inside, err)
	}
	if w.content("secret/s.txt") != "hidden needle" || w.content(".git/a.txt") != "inside" {
		t.Error("what is denied was changed")
	}
}
