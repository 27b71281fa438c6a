package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// decided: without a file of tokens the first start makes the secret of approvers. It is told where and never what, stays the same, is known over gRPC
// and REST, and whoever shows none is answered as ever. Beside a file of tokens there is none.
func decided(t *testing.T, m mode) {
	m = m.killable() // a program says what a person reads
	w := open(t, m, nobody)
	path := filepath.Join(w.settings.agent, token.SecretName)
	shown, err := token.ReadSecret(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	said := func() string {
		text, err := os.ReadFile(w.settings.log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	w.eventually(t, "the person is told where the secret is", func() bool { return strings.Contains(said(), path) })
	// The agent is asked, who knows the secret: in four processes the others know nobody.
	ask := func(secret string) (codes []codes.Code) {
		for _, x := range w.as(t, secret) {
			_, err := x.ask(t, w.methods()["GetGeneration"], `{"name": "generations/0196b2c4-0007-7aaa-8bbb-000000000007"}`)
			e, ok := apierr.FromStatus(err)
			if !ok || strings.Contains(e.Message, shown[30:50]) {
				t.Fatalf("%s: %v", x.how, err)
			}
			codes = append(codes, e.Code)
		}
		return codes
	}
	wrong := shown[:len(shown)-64] + strings.Repeat("0", 64)
	check := func() {
		t.Helper()
		for _, tt := range []struct {
			secret string
			want   codes.Code
		}{{"", codes.NotFound}, {shown, codes.NotFound}, {wrong, codes.Unauthenticated}} {
			if got := ask(tt.secret); len(got) != 2 || got[0] != tt.want || got[1] != tt.want {
				t.Errorf("%.20q: %v, want %s", tt.secret, got, tt.want)
			}
		}
	}
	check()
	search := func(folder string) error {
		cmd := exec.CommandContext(w.ctx, filepath.Join(programs, "tsumugi"), "search", "霧", "--approver", "--addr", w.flowstore)
		cmd.Env = append(os.Environ(), "TSUMUGI_AGENT__DATA="+folder)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return errors.New(string(out))
		}
		return nil
	}
	if err := search(w.settings.agent); err != nil {
		t.Errorf("a command with the secret: %v", err)
	}
	if err := search(t.TempDir()); err == nil || !strings.Contains(err.Error(), "TSUMUGI_AGENT__DATA") {
		t.Errorf("a command that finds no secret: %v", err)
	}
	w.restart(t)
	check()
	if err := w.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if log := said(); strings.Count(log, path) != 1 || strings.Contains(log, shown[30:50]) {
		t.Errorf("the path is told %d times, the secret %v", strings.Count(log, path), strings.Contains(log, shown[30:50]))
	}
	asking, a, _ := guarded(t, m)
	if _, err := asking.as(t, a)[0].ask(t, w.methods()["ListFlows"], `{}`); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(asking.settings.agent, token.SecretName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a secret beside a file of tokens: %v", err)
	}
}
