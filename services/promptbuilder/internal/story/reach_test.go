package story

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// runes counts a token for each character.
type runes struct{ window int }

func (r runes) Counter(string) (Counter, error)         { return r, nil }
func (runes) List() []Listed                            { return nil }
func (runes) Local() bool                               { return false }
func (runes) Estimates() bool                           { return false }
func (r runes) Window(context.Context) (Backend, error) { return Backend{Window: r.window}, nil }
func (runes) Count(_ context.Context, text string) (int, error) {
	return 1 + utf8.RuneCountInString(text), nil
}
func (runes) Pieces(context.Context, string) ([]int, error) { return nil, fit.ErrNoPieces }

// TestOnlyTheEndIsRead: a prompt is the same, to its last figure but those of the counts, as when all of the body is looked at.
func TestOnlyTheEndIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"彼は歩いた。", "雨。", "\n", "\r\n", "\r", "　", "\u2028", "\x1c", "「待て！」\n", "a long line of English, that goes on", "\n\n", "\u0085",
		}), 0, 200).Draw(t, "body"), "")
		r := Request{
			Body: body, Mode: rapid.SampledFrom([]Mode{Generate, Autocomplete}).Draw(t, "mode"),
			Order: rapid.SampledFrom([]Order{"", TextFirst}).Draw(t, "order"), Work: Work{Note: "注"}, NoteDepth: new(rapid.SampledFrom([]int{0, 1, 2, 7, 1000}).Draw(t, "depth")),
		}
		window := rapid.IntRange(260, 900).Draw(t, "window")
		var got [2]Prompt
		var errs [2]error
		for i, each := range []int{9, 1 << 20} {
			b := NewBuilder(runes{window}, nil, Defaults{MaxTokens: 100, Rating: RatingGeneral})
			b.bytesEach = each
			got[i], errs[i] = b.Build(t.Context(), r)
			if got[i].Counts > fit.MaxCounts {
				t.Fatalf("%d counts", got[i].Counts)
			}
			got[i].Counts, got[i].Sent = 0, 0
		}
		if (errs[0] == nil) != (errs[1] == nil) {
			t.Fatal(errs)
		}
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Fatalf("-all of the body +its end\n%s", diff)
		}
	})
}
