package auditkeys_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/auditkeys"
)

// TestTheFirstStart: the file is made once, for its owner alone, by whichever process is first, and is the same for all.
func TestTheFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if k, err := auditkeys.LoadOrMake(dir); err != nil || k.String() != "keys k1, new rows with k1" {
				t.Errorf("%v, %v", k, err)
			}
		})
	}
	all.Wait()
	name := filepath.Join(dir, auditkeys.Name)
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	first, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := auditkeys.LoadOrMake(dir); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile(name); err != nil || !bytes.Equal(again, first) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := auditkeys.Load(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

// TestRotation: the last key makes new rows, all verify; everything that is wrong is told.
func TestRotation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab", 32)
	k, err := auditkeys.Parse([]byte("keys:\n  - {id: old, hex: " + long + "}\n  - {id: new, hex: " + strings.Repeat("cd", 32) + "}\n"))
	if err != nil || k.String() != "keys new, old, new rows with new" {
		t.Errorf("%v, %v", k, err)
	}
	for text, want := range map[string][]string{
		"": {"it has no keys"}, "keys: []": {"it has no keys"}, "key: x": {`unknown key`},
		"keys: [{id: a, hex: xy}, {id: a, hex: " + long + "}]":     {"keys[0].hex: must be hexadecimal", `keys[1].id: "a" stands twice`},
		"keys: [{id: a, hex: ab}, {id: 'b c', hex: " + long + "}]": {`the key "a" has 1 bytes`, `"b c" is no id`},
	} {
		_, err := auditkeys.Parse([]byte(text))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: no %q in %v", text, w, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), long) {
			t.Errorf("%q: the error shows a key", text)
		}
	}
}
