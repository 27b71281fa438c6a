package tokens

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A person gets a token that works, sees it in the list without its secret, and takes it back by its id.
func TestAddListRevoke(t *testing.T) {
	t.Parallel()
	var out, beside bytes.Buffer
	o := Options{File: filepath.Join(t.TempDir(), "new folder", "tokens.yaml"), Out: &out, Err: &beside, Now: time.Now()}
	if err := Add(o, New{Name: "千夏", Namespace: "team-a", Roles: []string{"user", "approver"}, Expires: "90d"}); err != nil {
		t.Fatal(err)
	}
	shown, rest, _ := strings.Cut(out.String(), "\n")
	if rest != "" || !strings.Contains(beside.String(), "千夏") || strings.Contains(beside.String(), shown) {
		t.Errorf("%q, %q", out.String(), beside.String())
	}
	store, err := token.Open(o.File, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Verify(shown)
	if err != nil || got.Namespace != "team-a" || !got.Has(token.Approver) || got.Expires.Sub(o.Now).Round(time.Hour) != 90*24*time.Hour {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := Add(o, New{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	o.Now = o.Now.Add(91 * 24 * time.Hour)
	if err := List(o); err != nil || strings.Contains(out.String(), shown[20:]) {
		t.Errorf("%v, %s", err, out.String())
	}
	for _, want := range []string{got.ID + "  team-a     user,approver", "over since ", "default    user", "never", "千夏\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := Revoke(o, shown); err == nil || strings.Contains(err.Error(), shown[20:]) {
		t.Errorf("the whole token: %v", err)
	}
	if err := Revoke(o, got.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Verify(shown); err == nil {
		t.Error("a revoked token works")
	}
	if err := Revoke(o, got.ID); err == nil {
		t.Error("it was revoked twice")
	}
}

// What is wrong is told at once, and then no file is there.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	o := Options{File: filepath.Join(t.TempDir(), "tokens.yaml"), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Now: noon}
	for want, n := range map[string]New{
		"name: must be":            {},
		"namespace: must be 1":     {Name: "a", Namespace: "../x"},
		"namespace: must be left":  {Name: "a", Namespace: "a", Roles: []string{"service"}},
		`roles: "king" is none of`: {Name: "a", Roles: []string{"king"}},
		"session: must be":         {Name: "a", Session: "x"},
		`expires: "soon" must be`:  {Name: "a", Expires: "soon"},
		`expires: "-1d" must be`:   {Name: "a", Expires: "-1d"},
		`expires: "0w" must be`:    {Name: "a", Expires: "0w"},
		`expires: "99999999999d"`:  {Name: "a", Expires: "99999999999d"},
	} {
		if err := Add(o, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := os.Stat(o.File); err == nil {
		t.Error("a file was made")
	}
	for _, err := range []error{Add(Options{}, New{Name: "a"}), List(Options{}), Revoke(Options{}, "x")} {
		if err == nil || !strings.Contains(err.Error(), "--tokens FILE") {
			t.Errorf("no file named: %v", err)
		}
	}
	if err := List(o); err == nil {
		t.Error("no file was listed")
	}
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "12h": 12 * time.Hour, "36500d": 0, "36499d": 36499 * 24 * time.Hour} {
		if got, err := duration(text); got != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
