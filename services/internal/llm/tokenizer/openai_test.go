package tokenizer_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// mixedBlanks are runs of blanks with a line end that are not line ends alone.
var mixedBlanks = regexp.MustCompile(`[^\S\r\n][\r\n]|[\r\n][^\S\r\n]|[\r\n][\p{Z}\x{85}]|[\p{Z}\x{85}][\r\n]`)

// TestOpenAI: the same ids as the library whose vocabularies these are, on texts in which the library does not err:
// version 0.10.0 leaves out U+007F and cuts some runs of blanks with line ends in other places than the published
// expression says (the PyPI package tokenizers agrees with us there: reference_test.go).
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
			compared := 0
			for _, text := range append(randoms(20_000), texts...) {
				if strings.Contains(text, "\x7f") || mixedBlanks.MatchString(text) {
					continue
				}
				compared++
				ids, _, err := library.Encode(text)
				if err != nil {
					t.Fatal(err)
				}
				got := ours.Append(nil, text, tokenizer.Options{})
				if !slices.EqualFunc(got, ids, func(a int32, b uint) bool { return uint(a) == b }) {
					t.Fatalf("%q: got %v, want %v", text, got, ids)
				}
				checkLengths(t, ours, text, len(ids))
			}
			if compared < 10_000 {
				t.Errorf("only %d texts were compared", compared)
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
