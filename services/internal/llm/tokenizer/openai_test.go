package tokenizer_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// betweenLineEnds is where version 0.10.0 of the library errs with cl100k_base and o200k_base: at line ends with other blanks
// between them. The published `\s*[\r\n]+` takes all up to the last line end of a run of blanks; the library ends the piece
// behind the first ones. The PyPI package tokenizers agrees with us there (reference_test.go).
var betweenLineEnds = regexp.MustCompile(`[\r\n][\t\v\f\x{85}\p{Z}]+[\r\n]`)

// asLibrary gives our ids of a text, cut first where the library ends a piece and the published expression does not.
func asLibrary(ours *tokenizer.Tokenizer, name, text string) (ids []int32) {
	if name == "cl100k_base" || name == "o200k_base" {
		for at := betweenLineEnds.FindStringIndex(text); at != nil; at = betweenLineEnds.FindStringIndex(text) {
			ids = ours.Append(ids, text[:at[0]+1], tokenizer.Options{})
			text = text[at[0]+1:]
		}
	}
	return ours.Append(ids, text, tokenizer.Options{})
}

// TestOpenAI: the same ids as the library whose vocabularies these are. It leaves out U+007F, with each encoding: such texts are
// not compared.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	for name, library := range map[string]*codec.Codec{
		"cl100k_base": codec.NewCl100kBase(), "o200k_base": codec.NewO200kBase(),
		"p50k_base": codec.NewP50kBase(), "r50k_base": codec.NewR50kBase(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, err := tokenizer.OpenAI(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range append(randomsFor(name, 20_000), texts...) {
				if strings.Contains(text, "\x7f") {
					continue
				}
				ids, _, err := library.Encode(text)
				if err != nil {
					t.Fatal(err)
				}
				got := asLibrary(ours, name, text)
				if !slices.EqualFunc(got, ids, func(a int32, b uint) bool { return uint(a) == b }) {
					t.Fatalf("%q: got %v, want %v", text, got, ids)
				}
				checkLengths(t, ours, text, len(ours.Append(nil, text, tokenizer.Options{})))
			}
		})
	}
	if _, err := tokenizer.OpenAI("gpt-9"); err == nil || !strings.Contains(err.Error(), "o200k_base") {
		t.Errorf("an unknown encoding gives %v", err)
	}
}

// TestPerf2LongPieces: the ids of a text without a break are those of the library; that the time grows with the length
// and not with its square is a row of the bench.
func TestPerf2LongPieces(t *testing.T) {
	t.Parallel()
	ours, err := tokenizer.OpenAI("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	library := codec.NewCl100kBase()
	for _, text := range []string{strings.Repeat("あいうえおかきくけこ", 1600), strings.Repeat("a", 10_000)} {
		ids, _, err := library.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(ours.Append(nil, text, tokenizer.Options{}), ids, func(a int32, b uint) bool { return uint(a) == b }) {
			t.Errorf("%.20q... is cut into other tokens", text)
		}
	}
}
