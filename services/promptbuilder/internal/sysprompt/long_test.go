package sysprompt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// TestLongTexts: whatever stands in a file of 1 MiB, however it is cut, and in what else a request may be long with, a prompt
// of it ends soon. A quadratic reading would take minutes.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	none := 0
	for _, piece := range []string{"a\n", "# a\n", "必ず\n", "か\u3099", "\u3099", "</file-1", "\r\n", "\x00\xff", "x_id: 1 ", "0-"} {
		text := strings.Repeat(piece, (1<<20)/len(piece))
		for _, how := range []Truncation{Head, HeadTail, Digest} {
			const most = 1 << 19
			r := Request{Files: []File{{Name: "a.md", Content: []byte(text)}}, Bootstrap: Bootstrap{Max: most, TotalMax: &none, Truncation: how, Unit: passage.Bytes}}
			if p := build(t, r); p.Files[0].Printed > most {
				t.Errorf("%q: %+v", piece, p.Files[0])
			}
		}
		r := Request{Locale: "en", Tools: []Tool{{Name: "read", Summary: text}}, Skills: []Skill{{Name: "s", Description: "s" + text, Location: "/s"}}}
		for i := range 32 {
			r.Sections = append(r.Sections, Custom{ID: fmt.Sprint("own", i), Text: string([]rune(text)[:maxSection/4]), Untrusted: true})
		}
		build(t, r)
	}
}

// Nobody waits for a prompt whose time is over: its files are left as they are.
func TestNoFilesAfterTheDeadline(t *testing.T) {
	t.Parallel()
	b := NewBuilder(folders{}, nil, Defaults{})
	r, _ := b.Prepare(Request{Files: []File{{Name: "a.md", Content: []byte("a")}}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Build(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
