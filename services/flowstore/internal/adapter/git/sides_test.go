package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// What is brought to HEAD runs from a base to theirs: forwards for a pick, backwards for a revert, and also where the commit is the first
// of all.
func TestBothOfAChangeUnderway(t *testing.T) {
	t.Parallel()
	needGit(t)
	for _, test := range []struct {
		name               string
		operation          Operation
		do                 []string
		base, ours, theirs string
		// mainline is what a person says, noted what git does.
		mainline, noted int
	}{
		{"merge", Merge, []string{"merge", "side"}, "two", "three", "side", 0, 0},
		{"pick", CherryPick, []string{"cherry-pick", "side"}, "two", "three", "side", 0, 0},
		{"pick of a first commit", CherryPick, []string{"cherry-pick", "alone"}, "no base", "three", "alone", 0, 0},
		{"pick of a merge", CherryPick, []string{"cherry-pick", "-m", "2", "joined~1"}, "side", "three", "joined", 2, 0},
		{"picks of merges", CherryPick, []string{"cherry-pick", "-m", "2", "joined~1", "joined~1"}, "side", "three", "joined", 0, 2},
		{"rebase", Rebase, []string{"rebase", "side"}, "two", "side", "three", 0, 0},
		{"revert", Revert, []string{"revert", "--no-edit", "main~1"}, "two", "three", "one", 0, 0},
		{"revert of a first commit", Revert, []string{"revert", "--no-edit", "main~2"}, "one", "three", "", 0, 0},
		{"revert of a merge", Revert, []string{"revert", "--no-edit", "-m", "2", "joined~1"}, "joined", "three", "side", 0, 2},
		{"revert of a merge, in its first parent", Revert, []string{"revert", "--no-edit", "-m", "1", "joined~1"}, "joined", "later", "three", 0, 1},
		{"revert of a merge with a short hash", Revert, []string{"revert", "--no-edit", "--reference", "-m", "2", "joined~1"}, "joined", "three", "side", 0, 2},
		{"nothing", None, []string{"status"}, "", "", "", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := historyOf(t)
			if test.ours == "later" {
				r.do(t, "checkout", "-q", "joined")
			}
			_, err := r.run(t.Context(), nil, test.do...)
			if (err == nil) != (test.operation == None) {
				t.Fatalf("%v was to stop at a conflict: %v", test.do, err)
			}
			if wrong := (*MainlineError)(nil); test.mainline+test.noted > 0 {
				_, err := r.Underway(t.Context(), 3)
				if want := (MainlineError{test.operation, 2, test.noted}); !errors.As(err, &wrong) || *wrong != want {
					t.Errorf("the third of two parents: %v", err)
				}
			}
			c, err := r.Underway(t.Context(), test.mainline)
			if err != nil || c.Operation != test.operation {
				t.Fatalf("%+v, %v", c, err)
			}
			theirs, err := r.List(t.Context(), c.Theirs, "nodes")
			if err != nil || (len(theirs) == 1) != (test.theirs != "") {
				t.Errorf("theirs has %q, %v", theirs, err)
			}
			if c.Operation == None {
				return
			}
			both, err := r.Both(t.Context(), c, "nodes")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{"ours": content(t, r, both.Ours), "theirs": content(t, r, both.Theirs), "base": "no base"}
			for _, base := range both.Bases {
				got["base"] = content(t, r, base)
			}
			if diff := cmp.Diff(map[string]string{"base": test.base, "ours": test.ours, "theirs": test.theirs}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a change has left out is looked for in all that it comes from, and after it is committed, too; it is found by a word in the
// file, and by no path.
func TestMention(t *testing.T) {
	t.Parallel()
	needGit(t)
	r := historyOf(t)
	for _, c := range []struct {
		do    []string
		found []string
	}{
		{nil, []string{"HEAD THREE", "HEAD^1 TWO"}},
		{[]string{"merge", "-q", "side"}, []string{"HEAD THREE", "MERGE_HEAD SIDE", "hash TWO"}},
		{[]string{"checkout", "-q", "-f", "joined~1"}, []string{"HEAD JOINED", "HEAD^1 THREE", "HEAD^2 SIDE", "hash TWO"}},
	} {
		if c.do != nil {
			_, _ = r.run(t.Context(), nil, c.do...) // A merge stops.
		}
		change, err := r.Underway(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, commit := range r.Around(t.Context(), change) {
			for _, word := range []string{"TWO", "THREE", "SIDE", "JOINED", "nodes"} {
				files, err := r.Mention(t.Context(), commit, []string{word, "no such word"}, "nodes", "trash")
				if err != nil {
					t.Fatal(err)
				}
				name := commit
				if len(name) == 40 {
					name = "hash"
				}
				if text := content(t, r, files); text != "" {
					found = append(found, name+" "+strings.ToUpper(text))
				}
			}
		}
		if diff := cmp.Diff(c.found, found); diff != "" {
			t.Errorf("%v: %s", c.do, diff)
		}
	}
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if testkit.Need("git") {
			t.Fatal("git is missing")
		}
		t.Skip("git is not installed: apt-get install git, or your system's way")
	}
}

func (r *Repo) do(t *testing.T, args ...string) {
	t.Helper()
	if _, err := r.run(t.Context(), nil, args...); err != nil {
		t.Fatal(err)
	}
}

// historyOf makes main (one, two, three), side (from two), alone (from nothing) and joined (of main and side, and later), each of which
// is a text of nodes/a.
func historyOf(t *testing.T) *Repo {
	t.Helper()
	r := &Repo{dir: t.TempDir()}
	t.Cleanup(r.Close)
	git := func(args ...string) { t.Helper(); r.do(t, args...) }
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
	git("checkout", "-q", "-b", "joined")
	git("merge", "-q", "-s", "ours", "--no-commit", "side")
	commit("joined")
	commit("later")
	git("checkout", "-q", "main")
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
