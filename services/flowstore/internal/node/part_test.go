package node_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

func TestPart(t *testing.T) {
	t.Parallel()
	n := node.Node{Model: "m", Tags: []string{"t"}, Generation: &node.Generation{Task: "x"}, Texts: []node.Text{
		{Role: "user", Content: "問い", Count: 5}, {Role: "assistant", Content: "夜🧵が明けた"}, {Role: "tool"},
	}}
	part := func(content string) node.Brief {
		return node.Brief{Whole: n.Etag(), Characters: []int{2, 6, 0}, Node: node.Node{Model: "m", Tags: []string{"t"}, Texts: []node.Text{
			{Role: "user", Count: 5}, {Role: "assistant", Content: content}, {Role: "tool"},
		}}}
	}
	for _, tt := range []struct {
		offset, length int
		want           string
	}{{0, 0, "夜🧵が明けた"}, {1, 2, "🧵が"}, {4, 2, "けた"}, {4, 9, "けた"}, {6, 1, ""}} {
		got, err := n.Part(node.Part{Text: 1, Offset: tt.offset, Length: tt.length})
		if diff := cmp.Diff(part(tt.want), got); diff != "" || err != nil {
			t.Errorf("%+v: %v %s", tt, err, diff)
		}
	}
	if n.Generation == nil || n.Texts[0].Content == "" {
		t.Error("the node itself was changed")
	}
	for want, p := range map[string]node.Part{
		"text 3 was asked for, and the last one is 2":                   {Text: 3},
		"text -1 was asked for, and the last one is 2":                  {Text: -1},
		"a part from character 7 on was asked for, and the text has 6":  {Text: 1, Offset: 7},
		"a part from character -1 on was asked for, and the text has 6": {Text: 1, Offset: -1},
	} {
		var outside *node.OutsideError
		if _, err := n.Part(p); !errors.As(err, &outside) || err.Error() != want {
			t.Errorf("%+v: %v", p, err)
		}
	}
	long := node.Node{Texts: []node.Text{{Content: strings.Repeat("🧵", node.MaxPart+1)}}}
	for _, length := range []int{0, node.MaxPart, node.MaxPart + 1} {
		b, err := long.Part(node.Part{Length: length})
		if got := utf8.RuneCountInString(b.Texts[0].Content); got != node.MaxPart || err != nil {
			t.Errorf("length %d: %d characters, %v", length, got, err)
		}
	}
}

// Parts of any length, put together, are the text, byte for byte.
func TestPartsAreTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "\xff", "e\u0301", "👩\u200d🚀"}).Draw(t, "end")
		length := rapid.IntRange(1, 5).Draw(t, "length")
		n := node.Node{Texts: []node.Text{{Content: text}}}
		got := ""
		for at := 0; ; at += length {
			b, err := n.Part(node.Part{Offset: min(at, utf8.RuneCountInString(text)), Length: length})
			if err != nil {
				t.Fatal(err)
			}
			if b.Texts[0].Content == "" {
				break
			}
			got += b.Texts[0].Content
		}
		if got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
