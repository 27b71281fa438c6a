package tokenizer_test

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// alphabets are where random texts take their characters from: most faults lie where classes of characters meet.
var alphabets = []string{
	"abcXYZ", "aB'sS'tT'reVE'LLdDmM", " \t\n\r\u3000\u00a0\u0085\u2028\v\f", "0123４５六Ⅷ½²", ".,!?/-_—…。、「」『』（）",
	"あいうアイウ漢字世界", "ёЖﬁßİıſKéÉ", "e\u0301か\u3099\u200d\u200c\ufe0f\u0300", "😀👨‍👩‍👧‍👦🇯🇵", "\x00\x01\x1b\x7f\ufeff\ufffd\U0010ffff",
	"ǅǈʰªº々ー", "한국어ไทยहिन्दी", "<|im_start|>▁<0x0A>[INST]", "\n\n\n  \t",
}

// random gives a text of a few stretches, each of one alphabet, with a rare character from anywhere.
func random(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(6) {
		runes := []rune(alphabets[rnd.IntN(len(alphabets))])
		for range 1 + rnd.IntN(8) {
			if r := rune(rnd.IntN(0x110000)); rnd.IntN(60) == 0 && (r < 0xD800 || r > 0xDFFF) {
				b.WriteRune(r)
			}
			b.WriteRune(runes[rnd.IntN(len(runes))])
		}
	}
	return b.String()
}

// randoms are always the same.
func randoms(n int) []string { return randomsOf(rand.New(rand.NewPCG(1, 2)), n) }

// randomsFor are others for each name, and always the same for one.
func randomsFor(name string, n int) []string {
	seed := fnv.New64a()
	seed.Write([]byte(name))
	return randomsOf(rand.New(rand.NewPCG(seed.Sum64(), 2)), n)
}

func randomsOf(rnd *rand.Rand, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = random(rnd)
	}
	return all
}

// texts are prose, code, emoji and control characters, and what the patterns treat apart.
var texts = append([]string{
	"",
	"　夜の港に、雨が降っていた。\n「まだ、帰らないの」\n彼女は二〇二六年の地図を、そっと畳んだ……。\n",
	"It was a dark night; the rain fell in torrents, except at intervals, when it wasn't. She'll know. THEY'RE gone.\r\n\r\n",
	"func (s *Search) next(left int) (at int, ok bool) {\n\tif s.settled() {\n\t\treturn 0, false // 100% done\n\t}\n}\n",
	"{\"name\": \"千草\", \"age\": 17, \"path\": \"C:\\\\Users\\\\千草\"}",
	"👨‍👩‍👧‍👦 is one family, 🇯🇵 one flag, か\u3099 one が, e\u0301 one é.",
	"\x00\x01\x02\x1b[31mred\x1b[0m\x7f\ufeff",
	"https://example.org/a/b?c=d#e --flag=1 1234567 3.14159 ½ Ⅷ ４５６",
	"HTTPServer getHTTPResponseCode iPhone日本ABCd McDonald'S o'Clock",
	"  leading, trailing  \n \n\t\n  x\u3000\u3000y",
	"<|begin|>a<|end|> <s>b</s>\n\n\nc\n\nd",
	strings.Repeat("あいうえおかきくけこ", 40) + strings.Repeat("a", 400) + strings.Repeat(" ", 200),
}, randoms(40)...)
