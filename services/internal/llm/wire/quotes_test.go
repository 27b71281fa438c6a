package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const secret = "夜の港で、彼女は紡いだ糸を見つめた。\n「もう戻れない」👨‍👩‍👧と言った。"

func TestQuotesAreTakenOut(t *testing.T) {
	t.Parallel()
	body := map[string]any{"model": "someone/a-model-with-a-long-name.gguf", "input": []any{map[string]string{"text": "<s>" + secret}}}
	asJSON, _ := json.Marshal(secret)
	ascii := ""
	for _, r := range string(asJSON) {
		if r < utf8.RuneSelf {
			ascii += string(r)
		} else {
			ascii += strings.Trim(asciiEscape(r), `"`)
		}
	}
	for name, c := range map[string]struct{ message, want string }{
		"nothing":        {"boom", "boom"},
		"as it is":       {"bad input: " + secret + " (500)", "bad input: […] (500)"},
		"on one line":    {"bad: " + strings.Join(strings.Fields(secret), " "), "bad: […]"},
		"as JSON":        {"bad: " + string(asJSON) + "!", `bad: "[…]"!`},
		"as ASCII":       {"bad: " + ascii + "!", `bad: "[…]"!`},
		"its bytes":      {`bad: b'\xe5\xa4\x9c\xe3\x81\xae\xe6\xb8\xaf\xe3\x81\xa7\xe3\x80\x81\xe5\xbd\xbc\xe5\xa5\xb3\xe3\x81\xaf'`, "bad: b'[…]'"},
		"a part":         {"at 彼女は紡いだ糸を見つめた: no", "at […]: no"},
		"two parts":      {"夜の港で、彼女は紡いだ, 紡いだ糸を見つめた。", "[…]"},
		"a short one":    {"unknown token 紡いだ", "unknown token 紡いだ"},
		"the model":      {"no model someone/a-model-with-a-long-name.gguf", "no model someone/a-model-with-a-long-name.gguf"},
		"broken escapes": {`\u12 \x \ud800 \`, `\u12 \x \ud800 \`},
	} {
		if got := withoutQuotes(c.message, body); strings.TrimRight(got, "。") != strings.TrimRight(c.want, "。") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// asciiEscape is a character as JSON in ASCII.
func asciiEscape(r rune) string {
	out := ""
	for _, u := range string(r) {
		if u > 0xffff {
			u -= 0x10000
			out += hexEscape(0xd800+u>>10) + hexEscape(0xdc00+u&0x3ff)
			continue
		}
		out += hexEscape(u)
	}
	return out
}

func hexEscape(r rune) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// Whatever surrounds it, no run of a prompt that is as long as a quote is left, and the rest stays.
func TestNoQuoteIsLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.String().Draw(t, "prompt")
		message := rapid.String().Draw(t, "before") + prompt + rapid.String().Draw(t, "behind")
		got := withoutQuotes(message, map[string]string{"prompt": prompt})
		sent, left := letters(prompt), string(squash(got).text)
		for i := minQuote; i <= len(sent) && !strings.ContainsAny(prompt, `\`); i++ {
			if strings.Contains(left, string(sent[i-minQuote:i])) {
				t.Fatalf("%q is left in %q", sent[i-minQuote:i], got)
			}
		}
	})
}
