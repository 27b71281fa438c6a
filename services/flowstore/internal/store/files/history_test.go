package files

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The answer says where git may have the text and how to take it out, whatever the file was called in an earlier commit: the first command
// lists the commits that had to do with it, the second one finds its contents and no others.
func TestAPurgeTellsOfGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		if testkit.Need("git") {
			t.Fatal("git is missing")
		}
		t.Skip("git is not installed: apt-get install git, or your system's way")
	}
	for _, of := range []store.Thing{thing(store.KindNode, "one"), thing(store.KindFlow, "one")} {
		t.Run(string(of.Kind), func(t *testing.T) {
			t.Parallel()
			const secret = "the secret"
			d, name, folder := secretDesk(t, of, secret)
			sh := func(command string) string {
				t.Helper()
				c := exec.CommandContext(t.Context(), "sh", "-c", command)
				c.Dir = d.path("")
				c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", command, err, out)
				}
				return string(out)
			}
			d.must(errors.Join(d.createFlow("novel"), d.change("novel", flow.Change{Add: []flow.Member{{Index: 1, Node: idOf("one")}}})))
			d.flushed()
			sh("git init -q && git add . && git commit -qm made")
			d.edit(folder+name, secret, secret+" again")
			sh("git commit -qam edited && git mv " + folder + name + " " + folder + "222" + name[3:] + " && git commit -qm moved")
			d.must(errors.Join(d.store.Rescan(t.Context(), ns), d.move(of, true), d.purge(of)))
			d.flushed()
			sh("git add . && git commit -qm purged")
			list, filter := d.advice(of)
			var commits []string
			for line := range strings.Lines(sh(list)) {
				commits = append(commits, strings.Fields(line)[1])
			}
			if !slices.Equal(commits, []string{"purged", "moved", "made"}) {
				t.Errorf("%s lists %q", list, commits)
			}
			found := regexp.MustCompile(regexp.MustCompile(`rb"(.+)"`).FindStringSubmatch(filter)[1])
			secrets := 0
			for line := range strings.Lines(sh("git rev-list --all --objects --filter=object:type=blob | cut -d' ' -f1")) {
				blob := sh("git cat-file -p " + line)
				if holds := strings.Contains(blob, secret); holds != found.MatchString(blob) {
					t.Errorf("%s: %v for\n%s", found, !holds, blob)
				} else if holds {
					secrets++
				}
			}
			if secrets != 2 {
				t.Errorf("%d contents with the text: this test proves nothing", secrets)
			}
		})
	}
}

// advice gives the commands in the answer to a purge.
func (d *desk) advice(of store.Thing) (list, filter string) {
	d.Helper()
	told, err := d.store.Purged(context.Background(), ns, of)
	d.must(err)
	commands := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Join(told.Remains, "\n"), -1)
	if len(commands) != 2 {
		d.Fatalf("no two commands in %q", told.Remains)
	}
	return commands[0][1], commands[1][1]
}
