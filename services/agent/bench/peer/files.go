// Package peer is what turns of a session are measured against: files as a program writes them that has nothing else, workflows and
// transactions in PostgreSQL, and a graph in LangGraph JS.
package peer

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// A state and a row of the sizes that an agent's are (field/perf.md 5.1).
var (
	state = bytes.Repeat([]byte("state "), 400)
	row   = append(bytes.Repeat([]byte("row "), 128), '\n')
)

// Files is a state file that is replaced and a log that is appended, each durable by itself.
type Files struct {
	dir    string
	folder *os.File
	log    *os.File
}

// NewFiles makes them in a folder.
func NewFiles(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "audit.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return &Files{dir, folder, log}, nil
}

// Turn writes a turn.
func (f *Files) Turn() error {
	next := filepath.Join(f.dir, "state.json.new")
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(state)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(f.dir, "state.json")); err != nil {
		return err
	}
	if err := f.folder.Sync(); err != nil {
		return err
	}
	if _, err := f.log.Write(row); err != nil {
		return err
	}
	return f.log.Sync()
}

// Close closes them.
func (f *Files) Close() error { return errors.Join(f.log.Close(), f.folder.Close()) }
