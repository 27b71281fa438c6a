package llamacpp

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAlign(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text   string
		pieces []string
		want   []int // nil: the borders are not certain
	}{
		"plain":                              {"ab c", []string{"a", "b", " c"}, []int{1, 1, 2}},
		"nothing":                            {"", nil, []int{}},
		"parts of a character":               {"夜", []string{"\xe5\xa4", "\x9c"}, []int{2, 1}},
		"BOS":                                {"夜", []string{"<bos>", "夜"}, []int{0, 3}},
		"BOS alone":                          {"", []string{"<bos>"}, []int{0}},
		"BOS that is written in the text":    {"<bos>夜", []string{"<bos>", "<bos>", "夜"}, []int{0, 5, 3}},
		"no BOS, but written in the text":    {"<bos>夜", []string{"<bos>", "夜"}, []int{5, 3}},
		"BOS and EOS":                        {"a", []string{"[CLS]", "a", "[SEP]"}, []int{0, 1, 0}},
		"a control token in the text":        {"a</s> b", []string{"<bos>", "a", "</s>", " b"}, []int{0, 1, 4, 2}},
		"a blank of the tokenizer's own":     {"x y", []string{"<s>", " x", " y"}, []int{0, 1, 2}},
		"its own blank as a token":           {" x", []string{"<s>", " ", " x"}, []int{0, 0, 2}},
		"its own blank before blanks":        {"  x", []string{"<s>", "   ", "x"}, []int{0, 2, 1}},
		"its own blank, no BOS":              {"x", []string{" x"}, []int{1}},
		"own blanks after a control token":   {"a</s>b", []string{"<s>", " a", "</s>", " b"}, []int{0, 1, 4, 1}},
		"own blank before a blank, no doubt": {"a</s> b", []string{"<s>", " a", "</s>", "  b"}, []int{0, 1, 4, 2}},
		"own blank before a blank, in doubt": {"a</s> b", []string{"<s>", " a", "</s>", " ", " b"}, nil},
		"a text that was rewritten":          {"Ab", []string{"a", "b"}, nil},
		"something is missing":               {"abc", []string{"a", "b"}, nil},
		"something is too much":              {"a", []string{"a", "b", "c"}, nil},
		"an unknown token":                   {"a夜", []string{"<s>", "a", "<unk>"}, nil},
		"two blanks of its own":              {"x", []string{"  x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := align(test.text, test.pieces)
			if ok != (test.want != nil) || !slices.Equal(got, test.want) {
				t.Errorf("align gives %v, %v; want %v", got, ok, test.want)
			}
		})
	}
}

// Whatever a text and wherever its tokens begin: with BOS and a blank of the tokenizer's own in front, every border is found.
func TestAlignProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.StringMatching(`[ ab夜]{1,3}`), 1, 8).Draw(t, "pieces")
		text, want := "", []int{0}
		for _, p := range pieces {
			text += p
			want = append(want, len(p))
		}
		told := append([]string{"<s>"}, pieces...)
		if rapid.Bool().Draw(t, "own blank") {
			told[1] = " " + told[1]
		}
		if got, ok := align(text, told); !ok || !slices.Equal(got, want) {
			t.Fatalf("align(%q, %q) gives %v, %v; want %v", text, told, got, ok, want)
		}
	})
}

func TestPieceForms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`"夜"`: "夜", `[229,164]`: "\xe5\xa4", `""`: "", `[]`: "", `"\u0000"`: "\x00"} {
		var p piece
		if err := json.Unmarshal([]byte(in), &p); err != nil || string(p) != want {
			t.Errorf("%s is read as %q, %v", in, p, err)
		}
	}
	for _, in := range []string{`[256]`, `[-1]`, `["a"]`, `{}`, `1`} {
		var p piece
		if err := json.Unmarshal([]byte(in), &p); err == nil {
			t.Errorf("%s is read as %q", in, p)
		}
	}
}
