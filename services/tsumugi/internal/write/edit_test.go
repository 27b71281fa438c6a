package write

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// TestWhatAWriterWroteStays: an edit that cannot be stored stays in its file, which is named, and the next one goes on with it.
func TestWhatAWriterWroteStays(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := newDesk(t, llmtest.Options{Reply: replies()})
	// The first time it saves what is no text, the second time an end for it, and the third time it fails having saved.
	editor := d.file("editor", `#!/bin/sh
if [ ! -e "$0.1" ]; then touch "$0.1"; printf '書いた\377' > "$1"; exit; fi
if [ ! -e "$0.2" ]; then touch "$0.2"; grep -q 書いた "$1" && printf '書いた文。' > "$1"; exit; fi
printf 'また書いた。' > "$1"; exit 1
`)
	shown := d.must(Options{File: d.file("夜.txt", "夜、"), Editor: editor}, "e", "e", "e", "s")
	d.shows(shown, "is not UTF-8 (line 1)", "what you wrote is in ", "kept as you wrote it", "the editor failed", "a text of yours that is not stored: ")
	if strings.Contains(shown, "すべて保存済み") || strings.Contains(shown, "--file") {
		t.Errorf("%s", shown)
	}
	if _, text := d.story(shown); text != "夜、書いた文。" {
		t.Errorf("the story is %q", text)
	}
	path := regexp.MustCompile(`that is not stored: (\S+)`).FindStringSubmatch(shown)[1]
	if left, err := os.ReadFile(path); err != nil || string(left) != "また書いた。" {
		t.Errorf("%s holds %q, %v", path, left, err)
	}
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}
