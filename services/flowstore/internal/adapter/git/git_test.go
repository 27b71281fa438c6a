package git

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestParseUnmerged(t *testing.T) {
	t.Parallel()
	got, err := parseUnmerged("100644 aa 1\ta b.xml\x00100644 bb 2\ta b.xml\x00120000 cc 3\ta b.xml\x00100755 dd 2\tc\nd\x00")
	want := []Conflict{
		{"a b.xml", Version{"100644", "aa"}, Version{"100644", "bb"}, Version{"120000", "cc"}},
		{"c\nd", Version{}, Version{"100755", "dd"}, Version{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got[0].Theirs.Regular() || !got[0].Ours.Regular() || !got[1].Ours.Regular() || (Version{Mode: "160000"}).Regular() {
		t.Error("a link or another repository is taken for a file")
	}
	if got, err := parseUnmerged(""); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"100644 aa 4\tx\x00", "100644 aa 0\tx\x00", "100644 aa\tx\x00", "100644 aa 2\x00", "fatal"} {
		if _, err := parseUnmerged(wrong); err == nil {
			t.Errorf("%q is no error", wrong)
		}
	}
}

// What git says is in the error.
func TestErrors(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := t.TempDir()
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("no repository: %v", err)
	}
	r := &Repo{dir: dir}
	if _, err := r.run(t.Context(), nil, "init", "-q"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir+"/.git"); err == nil || !strings.Contains(err.Error(), "working tree") {
		t.Errorf("no working tree: %v", err)
	}
	if err := r.Stage(t.Context(), []string{"../outside"}); err == nil {
		t.Error("a path outside is staged")
	}
}
