package dynamic_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

// TestLongTexts: whatever stands in a text of 4 MiB, reading it ends soon. A quadratic reading would take hours.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	for _, piece := range []string{"{", "}", "{}", "{|", "|", `"`, `{"`, `|"`, `\`, `\{`, "{@", "{@a", `["a",`, `{"a":"`, `{"a":"{",`, `[ `, "{ || ", "{ ", "@\n", "@/*\n", "{1$$", "あ", "{a|b}\n"} {
		text := strings.Repeat(piece, (4<<20)/len(piece))
		if template, err := dynamic.Parse(text, dynamic.Options{Sets: sets}); err == nil {
			template.Draw(dynamic.Random(1, "body"))
		}
		if template, err := dynamic.ParseCompat(text); err == nil {
			template.Draw(dynamic.Random(1, "body"))
		}
	}
}

// TestBracesTakeLittleMemory: a text that is nothing but braces, as large as one may be.
func TestBracesTakeLittleMemory(t *testing.T) {
	for piece, limit := range map[string]uint64{"{}": 60, "{|": 90, "{a|b}": 60, `\{|}`: 60} {
		text := strings.Repeat(piece, (4<<20)/len(piece))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := dynamic.Parse(text, dynamic.Options{Lenient: true})
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); err != nil || used > limit {
			t.Errorf("%s: %d bytes for each byte of the text, want at most %d (%v)", piece, used, limit, err)
		}
	}
}

// FuzzParse: every text is read or refused, and what has no group in it stays as it is, less its comments.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{A|B|"C D"}`, `{1-2$$と$${@weather}|0.5::B|C}`, "@// x\n{a|{b|c}}\\{d|e\\}", `{"a": {"b": "x|y"}}`, "@startpoint\n{a\n|b}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if template, err := dynamic.ParseCompat(text); err == nil {
			template.Draw(dynamic.Random(1, "body"))
		}
		template, err := dynamic.Parse(text, dynamic.Options{Sets: sets})
		if err != nil {
			if wrong := (*dynamic.SyntaxError)(nil); !errors.As(err, &wrong) || wrong.Line < 1 || wrong.Column < 1 {
				t.Fatalf("%v", err)
			}
			lenient, err := dynamic.Parse(text, dynamic.Options{Sets: sets, Lenient: true})
			if err != nil || malformed(lenient) == 0 {
				t.Fatalf("%v, and %v are told", err, lenient.Malformed())
			}
			lenient.Draw(dynamic.Random(1, "body"))
			return
		}
		got, picks := template.Draw(dynamic.Random(1, "body"))
		if len(picks) > template.Groups() {
			t.Fatal(fmt.Sprint(picks))
		}
		if template.Groups() == 0 && !strings.Contains(text, "@") && !strings.Contains(text, `\`) && got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
