// Package auditkeys reads the keys of the audit record from a file, and makes the file with a first key where it is not there.
//
// The file is YAML: a list of keys, each with an id and 64 or more hexadecimal digits. The last one makes new rows, the others verify
// older ones: to rotate, add a key behind the last one and start again. Whoever has the keys can make rows that verify, so the file is
// for its owner alone, and it belongs in the backup: without it no row can be verified.
package auditkeys

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// ownBytes make a name that no other process writes.
const ownBytes = 8

// Name is what the file is called in the data folder.
const Name = "audit-keys.yaml"

type file struct {
	Keys []struct {
		ID  string `yaml:"id"`
		Hex string `yaml:"hex"`
	} `yaml:"keys"`
}

// Load reads a file of keys. The error names the file and everything that is wrong in it.
func Load(name string) (*audit.Keys, error) {
	keys, err := load(name)
	if err != nil {
		return nil, fmt.Errorf("the keys of the audit record, %s: %w", name, err)
	}
	return keys, nil
}

func load(name string) (*audit.Keys, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others than its owner may read or write it: chmod 600 %s", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, yamlx.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse reads the text of a file of keys.
func Parse(text []byte) (*audit.Keys, error) {
	var read file
	if err := yamlx.Decode(text, &read); err != nil {
		return nil, err
	}
	if len(read.Keys) == 0 {
		return nil, errors.New("it has no keys")
	}
	all := map[string][]byte{}
	var problems []error
	for i, k := range read.Keys {
		key, err := hex.DecodeString(k.Hex)
		if err != nil {
			problems = append(problems, fmt.Errorf("keys[%d].hex: must be hexadecimal digits, two for each byte", i))
		}
		if _, twice := all[k.ID]; twice {
			problems = append(problems, fmt.Errorf("keys[%d].id: %.80q stands twice", i, k.ID))
		}
		all[k.ID] = key
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return audit.NewKeys(read.Keys[len(read.Keys)-1].ID, all)
}

// LoadOrMake reads the file of a data folder, and makes it with a first key where it is not there. It is on the disk before it is used:
// rows are signed with it.
func LoadOrMake(folder string) (*audit.Keys, error) {
	name := filepath.Join(folder, Name)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := first(folder); err != nil {
			return nil, fmt.Errorf("the keys of the audit record: %w", err)
		}
	}
	return Load(name)
}

// first makes the file with a key of 256 random bits. Of two processes that do so at once one does; both then read the same.
func first(folder string) error {
	dir, err := filesys.Open(folder)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // what it wrote is synced
	key := make([]byte, audit.MinKey+ownBytes)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	text := "# Keys of the audit record. The last one makes new rows, all of them verify. Keep a copy: without it no row can be verified.\n" +
		"keys:\n  - id: k1\n    hex: " + hex.EncodeToString(key[:audit.MinKey]) + "\n"
	_, err = filesys.First(dir, Name, "."+Name+"."+hex.EncodeToString(key[audit.MinKey:]), []byte(text))
	return err
}
