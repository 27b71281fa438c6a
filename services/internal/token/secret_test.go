package token

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// approver is who has the secret in these tests.
func approver() Token {
	return Token{Name: "local", Namespace: "default", Roles: []Role{User, Approver}}
}

// The secret is made once, for its owner alone, is found again by the next start, and what is no secret is refused without telling it.
func TestSecret(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data", "agent")
	s, made, err := OpenSecret(folder, approver())
	if err != nil || !made || s.Path() != filepath.Join(folder, SecretName) {
		t.Fatalf("%v, made %v, %s", err, made, s.Path())
	}
	info, err := os.Stat(s.Path())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	shown, err := ReadSecret(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	again, made, err := OpenSecret(folder, approver())
	if err != nil || made {
		t.Errorf("the second start: %v, made %v", err, made)
	}
	for _, one := range []*Secret{s, again} {
		got, err := one.Verify(shown)
		if err != nil || got.Name != "local" || !got.Has(Approver) || got.ID != ID(shown) || !one.Still(got) || !one.Ready(t.Context()).OK {
			t.Errorf("%+v, %v", got, err)
		}
		for wrong, want := range map[string]error{
			"": ErrForm, "x": ErrForm, shown + " ": ErrForm, shown[:len(shown)-1]: ErrForm, strings.ToUpper(shown): ErrForm,
			shown[:len(shown)-64] + strings.Repeat("0", 64):               ErrUnknown,
			strings.Replace(shown, ID(shown), strings.Repeat("0", 12), 1): ErrUnknown,
		} {
			if _, err := one.Verify(wrong); !errors.Is(err, want) || strings.Contains(err.Error(), shown[30:50]) {
				t.Errorf("%.20q: %v", wrong, err)
			}
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	other, _, err := OpenSecret(t.TempDir(), approver())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Verify(shown); !errors.Is(err, ErrUnknown) {
		t.Errorf("two folders have one secret: %v", err)
	}
}

// Processes that start at once over one folder have one secret.
func TestSecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const starts = 8
	var all [starts]*Secret
	var first [starts]bool
	var wait sync.WaitGroup
	for i := range starts {
		wait.Go(func() {
			var err error
			if all[i], first[i], err = OpenSecret(folder, approver()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	shown, err := ReadSecret(filepath.Join(folder, SecretName))
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for i, s := range all {
		if first[i] {
			made++
		}
		if _, err := s.Verify(shown); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || made != 1 || len(entries) != 1 {
		t.Errorf("made %d times; %v, %v", made, entries, err)
	}
}

// Without a secret that can be read, or a place for one, nobody has it, whatever they show; what is there is not replaced, and never told.
func TestSecretThatIsNone(t *testing.T) {
	t.Parallel()
	var one Token
	shown := Mint(&one)
	for name, prepare := range map[string]func(folder string) error{
		"empty": func(folder string) error { return os.WriteFile(filepath.Join(folder, SecretName), nil, 0o600) },
		"something": func(folder string) error {
			return os.WriteFile(filepath.Join(folder, SecretName), []byte("hunter2"), 0o600)
		},
		"two": func(folder string) error {
			return os.WriteFile(filepath.Join(folder, SecretName), []byte(shown+"\n"+shown), 0o600)
		},
		"a folder": func(folder string) error { return os.Mkdir(filepath.Join(folder, SecretName), 0o700) },
		"no place": func(folder string) error { return errors.Join(os.Remove(folder), os.WriteFile(folder, nil, 0o600)) },
		"a link away": func(folder string) error {
			return os.Symlink(filepath.Join(folder, SecretName), filepath.Join(folder, SecretName))
		},
	} {
		folder := filepath.Join(t.TempDir(), "data")
		if err := errors.Join(os.Mkdir(folder, 0o700), prepare(folder)); err != nil {
			t.Fatal(err)
		}
		s, made, err := OpenSecret(folder, approver())
		if err == nil || made || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), shown[30:50]) {
			t.Errorf("%s: made %v, %v", name, made, err)
		}
		if _, err := s.Verify(shown); !errors.Is(err, ErrUnknown) || s.Still(one) {
			t.Errorf("%s: %v", name, err)
		}
		if c := s.Ready(t.Context()); c.OK || c.Fatal || strings.Contains(c.Message, "hunter2") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	folder := t.TempDir()
	s, _, err := OpenSecret(folder, approver())
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602} {
		if err := os.Chmod(s.Path(), mode); err != nil {
			t.Fatal(err)
		}
		if c := s.Ready(t.Context()); runtime.GOOS != "windows" && c.OK {
			t.Errorf("mode %#o: %+v", mode, c)
		}
	}
}
