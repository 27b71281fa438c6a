package main

import (
	"math/rand/v2"
	"strings"
)

// The sentences that the texts are made of, in an order drawn from a seed.
var (
	japanese = []string{
		"夜の港に、雨が静かに降っていた。", "彼女は古い傘をたたみ、灯台の光を見上げた。", "「まだ帰らないの」と、後ろから声がした。",
		"船は一隻も来ず、波だけが岸壁を叩いている。", "二〇二六年の冬、町の人々は皆そのことを知っていた。", "糸を紡ぐ音が、家の奥から聞こえてくる。",
		"私は答えずに、濡れた石段をゆっくりと下りた。", "朝になれば、すべてが変わってしまうだろう。", "けれども、手紙には何も書かれていなかった……。",
		"「待ってください！」彼は叫んだが、誰も振り向かない。", "窓の外では、白い鳥が三羽、同じところを回っていた。", "時計の針は、七時十五分で止まったままだ。",
		"祖母の話によれば、この井戸には底がないという。", "赤い提灯が風に揺れて、影が壁を這った。", "遠くの山に、最初の雪が積もりはじめている。",
	}
	english = []string{
		"The harbour lay under a slow rain, and nobody came down the steps.", "She folded the old umbrella and looked up at the light.",
		"\"You aren't going home yet?\" a voice behind her asked.", "There were no ships, only the waves that beat against the wall.",
		"In the winter of 2026 everybody in the town knew about it.", "From the back of the house came the sound of a spinning wheel.",
		"I didn't answer, and walked down the wet stones, one after another.", "By the morning all of this would be gone, he thought.",
		"But the letter said nothing; it was a blank sheet of paper.", "Far away, on the mountains, the first snow had begun to settle.",
	}
)

// prose is a text of so many bytes at least, a few sentences to the line.
func prose(sentences []string, blank string, size int) string {
	rnd := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for b.Len() < size {
		for range 1 + rnd.IntN(3) {
			b.WriteString(sentences[rnd.IntN(len(sentences))])
			b.WriteString(blank)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
