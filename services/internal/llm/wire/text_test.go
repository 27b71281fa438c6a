package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUnquote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`""`: "", `"夜"`: "夜", `"\u591c\n\"\\\/"`: "夜\n\"\\/", `"\ud83d\ude00"`: "😀",
		"\"a\xe5\xa4\"": "a\xe5\xa4", "\"\x9c\\n\"": "\x9c\n", "\"\xff\xfe\"": "\xff\xfe",
	} {
		got, err := unquote(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{``, `null`, `1`, `{"a":1}`, `"`} {
		if got, err := unquote(json.RawMessage(in)); err == nil {
			t.Errorf("%q is read as %q", in, got)
		}
	}
}

// A token that holds a whole character and the beginning of another, with the rest in the next.
func TestWannabe35NoCharacterIsLost(t *testing.T) {
	t.Parallel()
	var a Assembler
	var pieces []string
	for _, bytes := range []string{"\xe3\x83\xaa", "\xe3\x83\xb3\xe3\x82", "\xb4"} {
		piece, err := a.Add(raw(bytes))
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece)
	}
	if want := []string{"リ", "ン", "ゴ"}; !slices.Equal(pieces, want) || a.Half() {
		t.Errorf("got %q, want %q", pieces, want)
	}
}

// FuzzAssembler: every valid text arrives unchanged and in whole characters wherever it is cut, and nothing that is not
// UTF-8 ever comes out.
func FuzzAssembler(f *testing.F) {
	for _, s := range []string{"リンゴ", "👨‍👩‍👧", "a\x00\"\\\n", "\xe3\x82", "\xff\xe3\x82\xb4", "\ufffd"} {
		f.Add(s, uint8(1))
		f.Add(s, uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		var a Assembler
		var out strings.Builder
		for rest := text; rest != ""; {
			n := min(int(step)%5+1, len(rest))
			s, err := a.Add(raw(rest[:n]))
			if !utf8.ValidString(s) {
				t.Fatalf("%q gave %q", text, s)
			}
			out.WriteString(s)
			if err != nil {
				if utf8.ValidString(text) {
					t.Fatalf("%q: %v", text, err)
				}
				return
			}
			rest = rest[n:]
		}
		if utf8.ValidString(text) && (out.String() != text || a.Half()) {
			t.Errorf("%q became %q", text, out.String())
		}
	})
}

// raw writes a JSON string and leaves bytes that are not UTF-8 as they are.
func raw(s string) json.RawMessage {
	out := `"`
	for _, b := range []byte(s) {
		if b < 0x80 {
			quoted, _ := json.Marshal(string(rune(b))) // one ASCII character
			out += string(quoted[1 : len(quoted)-1])
			continue
		}
		out += string([]byte{b})
	}
	return json.RawMessage(out + `"`)
}
