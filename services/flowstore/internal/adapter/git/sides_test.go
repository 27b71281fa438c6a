package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// What is brought to HEAD runs from a base to theirs: forwards for a pick, backwards for a revert, and also where the commit is the first
// of all.
func TestBothOfAChangeUnderway(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		if testkit.Need("git") {
			t.Fatal("git is missing")
		}
		t.Skip("git is not installed: apt-get install git, or your system's way")
	}
	for _, test := range []struct {
		name               string
		do                 []string
		base, ours, theirs string
	}{
		{"merge", []string{"merge", "side"}, "two", "three", "side"},
		{"pick", []string{"cherry-pick", "side"}, "two", "three", "side"},
		{"pick of a first commit", []string{"cherry-pick", "alone"}, "no base", "three", "alone"},
		{"rebase", []string{"rebase", "side"}, "two", "side", "three"},
		{"revert", []string{"revert", "--no-edit", "main~1"}, "two", "three", "one"},
		{"revert of a first commit", []string{"revert", "--no-edit", "main~2"}, "one", "three", ""},
		{"nothing", []string{"status"}, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := historyOf(t)
			_, err := r.run(t.Context(), nil, test.do...)
			if (err == nil) != (test.name == "nothing") {
				t.Fatalf("%v was to stop at a conflict: %v", test.do, err)
			}
			both, ok, err := r.Both(t.Context(), "nodes")
			if err != nil || ok == (test.name == "nothing") {
				t.Fatalf("%t, %v", ok, err)
			}
			got := map[string]string{"ours": content(t, r, both.Ours), "theirs": content(t, r, both.Theirs), "base": "no base"}
			for _, base := range both.Bases {
				got["base"] = content(t, r, base)
			}
			want := map[string]string{"base": test.base, "ours": test.ours, "theirs": test.theirs}
			if !ok {
				want["base"] = "no base"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			theirs, err := r.InTheirs(t.Context(), "nodes")
			if err != nil || (len(theirs) == 1) != (test.theirs != "") {
				t.Errorf("theirs has %q, %v", theirs, err)
			}
		})
	}
}

// historyOf makes main (one, two, three), side (from two) and alone (from nothing), each of which is a text of nodes/a.
func historyOf(t *testing.T) *Repo {
	t.Helper()
	r := &Repo{t.TempDir()}
	git := func(args ...string) {
		t.Helper()
		if _, err := r.run(t.Context(), nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(r.dir, "nodes"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, "nodes", "a"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "nodes")
		git("commit", "-q", "-m", text)
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "A")
	git("config", "user.email", "a@example.org")
	commit("one")
	commit("two")
	git("checkout", "-q", "-b", "side")
	commit("side")
	git("checkout", "-q", "--orphan", "alone")
	commit("alone")
	git("checkout", "-q", "main")
	commit("three")
	return r
}

func content(t *testing.T, r *Repo, files map[string]Version) string {
	t.Helper()
	v, ok := files["nodes/a"]
	if !ok {
		return ""
	}
	data, err := r.Read(t.Context(), v, 100)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
