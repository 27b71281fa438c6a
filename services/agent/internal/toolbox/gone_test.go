package toolbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// here is a work folder that only says what it is.
type here struct{ folder.Root }

func (here) About() folder.About { return folder.About{Name: "work"} }

// TestWhatLeftTheConfiguration is told, all of it at once; what is there still comes with that, so that it may be found out what became of a call, and
// nothing judges.
func TestWhatLeftTheConfiguration(t *testing.T) {
	t.Parallel()
	b := box(t, told{})
	b.Work = map[string]Folder{"work": {Root: here{}}}
	for name, c := range map[string]struct {
		root, policy string
		told         []string
	}{
		"nothing": {"work", "", nil}, "the folder": {"old", "", []string{`no work folder "old"; there are work`}},
		"the policy": {"work", "gone", []string{`no policy "gone"; there are default`}},
		"both":       {"old", "gone", []string{`no work folder "old"; there are work`, `no policy "gone"; there are default`}},
	} {
		r, err := b.Router(t.Context(), "default", ledger.Session{Settings: ledger.Settings{Root: c.root, Policy: c.policy}})
		if (err == nil) != (c.told == nil) || (r.Engine == nil) != (c.policy != "") || (r.Mounts.Work == nil) != (c.root == "old") || r.Tools == nil || r.Effects == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		for _, text := range c.told {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is not told: %v", name, text, err)
			}
		}
		var noRoot *UnknownRootError
		var noPolicy *policy.Error
		if errors.As(err, &noRoot) != (c.root == "old") || errors.As(err, &noPolicy) != (c.policy != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
