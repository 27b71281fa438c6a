package search_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

// writer makes texts that look alike, so that words are found in many of them, and inside of others.
type writer struct{ *rand.Rand }

func pick[T any](r writer, from []T) T { return from[r.IntN(len(from))] }

var (
	kanji    = []rune("東京都検索全文黒猫雨再試行外国人参政権夜駅港々")
	kana     = []rune("のはをにがでとしますーきょう")
	kanaWide = []rune("プロンプトーボックスﾊﾞアイ")
	latinish = []string{"qu", "ick", "fix", "pro", "mpt", "gen", "itgc", "in", "dex", "Ｓea", "rch", "7", "_", "Straße", "é", "e\u0301"}
	between  = []string{" ", "  ", "\n", "、", "。", "-", "・", "　", "🙂", "「", "～", "〜", "\"", ": ", "か\u3099", "สวัสดี", "서울", "①"}
	names    = []string{"夜", "駅", "draft", "Ｄraft", "港", "検索"}
	models   = []string{"gemma-2-2b-jpn-it", "gpt-4", "gpt-4o", ""}
	zone     = time.FixedZone("", 9*60*60)
)

func (r writer) word() string {
	var b strings.Builder
	letters := pick(r, [][]rune{kanji, kanji, kana, kanaWide})
	for range 1 + r.IntN(4) {
		if r.IntN(3) == 0 {
			b.WriteString(pick(r, latinish))
		} else {
			b.WriteRune(pick(r, letters))
		}
	}
	return b.String()
}

func (r writer) text() string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(r.word())
		if r.IntN(3) > 0 {
			b.WriteString(pick(r, between))
		}
	}
	if r.IntN(20) == 0 {
		b.WriteString(" " + strings.Repeat("bG9uZw", 8+r.IntN(12)) + "quick ")
	}
	return b.String()
}

func (r writer) node() node.Node {
	n := node.Node{Model: pick(r, models), Created: time.Date(2026, 1, 1+r.IntN(200), 0, 0, 0, 1000*r.IntN(3), zone)}
	for i := range n.ID {
		n.ID[i] = byte(r.Uint32())
	}
	for range 1 + r.IntN(3) {
		n.Texts = append(n.Texts, node.Text{Role: pick(r, node.Roles), Content: r.text()})
	}
	for range r.IntN(3) {
		n.Tags = append(n.Tags, pick(r, names))
	}
	return n
}

// term is a piece of a text of the corpus, a word, the beginning of one, or something that is nowhere.
func (r writer) term(c *corpus, ids []uuid.UUID) string {
	switch r.IntN(6) {
	case 0:
		return r.word()
	case 1:
		return pick(r, latinish)
	}
	text := []rune(pick(r, c.nodes[pick(r, ids)].Texts).Content)
	if len(text) == 0 {
		return "quick"
	}
	at := r.IntN(len(text))
	return string(text[at:min(len(text), at+1+r.IntN(5))])
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// wanted makes a query of one to four parts.
func (r writer) wanted(c *corpus, ids []uuid.UUID) *wanted {
	w := &wanted{}
	for range 1 + r.IntN(3)*r.IntN(2) {
		r.addWord(w, c, r.term(c, ids))
	}
	if r.IntN(3) == 0 {
		r.addFilter(w, c)
	}
	return w
}

func (r writer) addWord(w *wanted, c *corpus, term string) {
	folded := search.Fold(term)
	if strings.TrimSpace(folded) == "" {
		term, folded = "quick", "quick"
	}
	text := quoted(term)
	if !strings.ContainsAny(folded, " \"-:") && r.IntN(2) == 0 {
		text = term
	}
	if r.IntN(6) > 0 {
		w.parts, w.words = append(w.parts, text), append(w.words, folded)
		return
	}
	w.parts = append(w.parts, "-"+text)
	w.accepts = append(w.accepts, func(n node.Node) bool { return !contains(w.counted(c, n), folded) })
}

func (r writer) addFilter(w *wanted, c *corpus) {
	a, b := pick(r, names), pick(r, names)
	has := func(n node.Node, tags ...string) bool {
		return slices.ContainsFunc(n.Tags, func(t string) bool {
			return slices.ContainsFunc(tags, func(tag string) bool { return c.fold(t) == c.fold(tag) })
		})
	}
	switch r.IntN(6) {
	case 0:
		w.parts, w.tags = append(w.parts, "tag:"+a, "TAG："+b), append(w.tags, search.Fold(a), search.Fold(b))
		w.accepts = append(w.accepts, func(n node.Node) bool { return has(n, a) && has(n, b) })
	case 1:
		w.parts, w.tags = append(w.parts, "tag:"+a+"、"+quoted(b)), append(w.tags, search.Fold(a), search.Fold(b))
		w.accepts = append(w.accepts, func(n node.Node) bool { return has(n, a, b) })
	case 2:
		w.parts = append(w.parts, "-tag:"+a, "-model:gpt")
		w.accepts = append(w.accepts, func(n node.Node) bool { return !has(n, a) && !strings.HasPrefix(n.Model, "gpt") })
	case 3:
		w.parts, w.roles = append(w.parts, "role:user,tool"), []string{"user", "tool"}
		w.accepts = append(w.accepts, func(n node.Node) bool { return len(w.counted(c, n)) > 0 })
	case 4:
		w.parts = append(w.parts, "after:2026-03", "before:2026-05-07", `model:"GPT-4"`)
		from, to := time.Date(2026, 3, 1, 0, 0, 0, 0, zone), time.Date(2026, 5, 7, 0, 0, 0, 0, zone)
		w.accepts = append(w.accepts, func(n node.Node) bool {
			return n.Model == "gpt-4" && !n.Created.Before(from) && n.Created.Before(to)
		})
	case 5:
		w.parts = append(w.parts, "flow:one", `-flow:"the other"`)
		w.accepts = append(w.accepts, func(n node.Node) bool {
			return slices.Contains(c.flows["one"], n.ID) && !slices.Contains(c.flows["the other"], n.ID)
		})
	}
}
