package kill_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := kill.NewReport(&out, 1)
	if r.Kills = 3; !r.Sound() {
		t.Error("nothing is wrong yet")
	}
	r.Acknowledged["messages"], r.Moments["in the quiet"] = 5, 3
	for range 30 {
		r.Lose("%s", "a row")
	}
	r.FailStart(os.ErrClosed)
	r.Tell()
	r.End()
	if r.Sound() || strings.Count(out.String(), "lost: a row\n") != 20 ||
		!strings.HasSuffix(out.String(), "failed start: file already closed\n        5 messages\n        3 killed in the quiet\ncrash: 3 kills, 30 lost, 1 failed starts\n") {
		t.Error(out.String())
	}
}

// TestProgram: a real program answers, ends only when it is killed, and says why it did not come up or ended by itself.
func TestProgram(t *testing.T) {
	t.Parallel()
	where := func(line string) (string, bool) { return strings.CutPrefix(line, "at ") }
	for script, want := range map[string]struct{ address, wrong string }{
		"echo hello; echo at home; exec sleep 60": {address: "home"},
		"echo broken >&2; exit 3":                 {wrong: "ended by itself, with code 3: broken"},
	} {
		p, err := kill.Launch(t.Context(), where, "sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		address, err := p.Address()
		if address != want.address || !says(err, want.wrong) {
			t.Errorf("%s: %q, %v", script, address, err)
		}
		if err != nil {
			continue
		}
		if err := p.Kill(); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func says(err error, want string) bool {
	if want == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), want)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	random, dir := rand.New(rand.NewPCG(1, 1)), t.TempDir()
	look := func() time.Time { return kill.Newest(filepath.Join(dir, "*")) }
	if kill.Watch(random, look) {
		t.Error("nothing has changed")
	}
	done := make(chan error, 1)
	timer := time.AfterFunc(20*time.Millisecond, func() { done <- os.WriteFile(filepath.Join(dir, "a"), nil, 0o600) })
	defer timer.Stop()
	if !kill.Watch(random, look) {
		t.Error("the change was not seen")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
