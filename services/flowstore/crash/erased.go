package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// mark is how a text that was drawn begins: no other one does, but what SplitNode kept of it.
var mark = regexp.MustCompile(`[0-9a-f]{16} `)

// marker gives the mark of a text; "" where it was cut.
func marker(text string) string {
	if at := mark.FindStringIndex(text); len(at) == 2 && at[0] == 0 {
		return text[:at[1]]
	}
	return ""
}

// noteErased keeps the markers of what a node says, and said before it was changed last.
func (l *ledger) noteErased(thing string) {
	for _, value := range []string{l.is[thing][partText], l.kept[thing][partText], l.previous[thing]} {
		var s saying
		if value != "" && json.Unmarshal([]byte(value), &s) == nil && len(s.Texts) > 1 {
			l.erased[marker(s.Texts[1])] = thing
		}
	}
}

// compareErased looks through the bytes of all files, local.db among them, for texts that were purged.
func (t *trial) compareErased() error {
	if len(t.ledger.erased) == 0 {
		return nil
	}
	return filepath.WalkDir(t.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("looking for what was purged: %w", err)
		}
		for _, found := range mark.FindAll(data, -1) {
			if thing, erased := t.ledger.erased[string(found)]; erased && !t.ledger.copied[string(found)] {
				t.Lose("%s holds %q, a text of %s, which was purged", path, found, thing)
			}
		}
		return nil
	})
}
