package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// Commits of another clone are picked, and some of one's own reverted, at random, and what git makes of it is resolved each time: no
// flow has a node without a file, and nothing but what was purged is left out when both are merged.
func TestResolveRandomPicksAndReverts(t *testing.T) {
	t.Parallel()
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			x, y := clones(t)
			random := rand.New(rand.NewPCG(uint64(seed), 7))
			before := &writer{clone: x, Rand: random, name: "base"}
			before.work(6)
			y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
			base := y.known(ids(before))
			ours, theirs := &writer{clone: x, Rand: random, name: "ours"}, &writer{clone: y, Rand: random, name: "theirs"}
			for range 3 {
				ours.work(5)
				theirs.work(5)
			}
			x.from(y)
			for _, operation := range [][]string{
				{"cherry-pick", fmt.Sprint("FETCH_HEAD~", random.IntN(3))},
				{"revert", "--no-edit", fmt.Sprint("HEAD~", 1+random.IntN(3))},
				{"cherry-pick", fmt.Sprint("FETCH_HEAD~", random.IntN(3))},
				{"revert", "--no-edit", fmt.Sprint("HEAD~", random.IntN(3))},
			} {
				x.brings(operation...)
			}
			all := ids(before, ours, theirs)
			a, b := x.known(all), y.known(all)
			said := x.join(y)
			x.wantOnlyDuplicates()
			x.wantTexts(all, base, a, b)
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

// brings has git pick or revert, and resolves what it makes of it.
func (c clone) brings(args ...string) {
	c.Helper()
	out, err := c.try(args...)
	if strings.Contains(out, "Assertion") { // Git 2.39 now and then, over renamed folders; it leaves its lock.
		c.must(os.Remove(c.path(".git/index.lock")))
		out, err = c.try(append([]string{"-c", "merge.directoryRenames=false"}, args...)...)
	}
	if err != nil && !strings.Contains(out, "CONFLICT") {
		_, _ = c.try(args[0], "--skip") // It changes nothing any more, and a revert has ended with that.
		return
	}
	said := c.resolved()
	c.wantOnlyDuplicates()
	c.git("commit", "-q", "--allow-empty", "-m", fmt.Sprint(args))
	if c.Failed() {
		c.Fatalf("after git %q: %s", args, said)
	}
}
