package storetest

import (
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

func readCases() []testCase {
	return []testCase{
		{Reads, "what was never stored is not there", func(e *env) { e.absent("a") }},
		{Reads, "a node is read as it was stored", func(e *env) {
			want := fullNode()
			e.must(e.update(func(tx store.Tx) error { return tx.CreateNode(want) }))
			e.same(want, e.node("full"))
		}},
		{Reads, "texts are verbatim", readTexts},
		{Reads, "a flow is read as it was stored", func(e *env) {
			want := fullFlow()
			e.must(e.update(func(tx store.Tx) error { return tx.CreateFlow(want) }))
			e.same(want, e.flow("full"))
		}},
		{Reads, "a node and a flow may have one id", func(e *env) {
			e.createNode("both", "text")
			e.createFlow("both")
			e.same("text", e.node("both").Texts[0].Content)
			e.same("both", e.flow("both").Name)
		}},
		{Reads, "Flush changes nothing that is read", func(e *env) {
			e.createFlow("f", "a", "b")
			n, f := e.node("a"), e.flow("f")
			_, err := e.store.Flush(e.Context(), e.ns)
			e.must(err)
			e.same(n, e.node("a"))
			e.same(f, e.flow("f"))
		}},
		{Reads, "a fresh store has no problems", func(e *env) {
			e.createFlow("f", "a")
			problems, err := e.store.Problems(e.Context(), e.ns)
			e.must(err)
			e.same([]store.Problem(nil), problems)
		}},
		{Reads, "a look at what the store wrote finds nothing", readLook},
	}
}

// readLook has a node in the trash, and changes that are in no file yet.
func readLook(e *env) {
	look, err := e.store.Look(e.Context(), e.ns, func(int, int) { e.Error("progress with nothing stored") })
	e.must(err)
	e.same(store.Look{}, look)
	e.createFlow("f", "a", "b")
	e.createNode("c", "text")
	e.must(e.update(func(tx store.Tx) error { return tx.Drop(store.Thing{Kind: store.KindNode, ID: id("c")}) }))
	read, files := 0, 0
	look, err = e.store.Look(e.Context(), e.ns, func(r, f int) { read, files = r, f })
	e.must(err)
	e.same([]store.Finding(nil), look.Findings)
	e.same([]int{3, 1, 4, 4}, []int{look.Nodes, look.Flows, read, files})
	mended, err := e.store.Mend(e.Context(), e.ns, store.MendOptions{Apply: true}, func(int, int) {})
	e.must(err)
	e.same(store.Mended{}, mended)
}

// readTexts holds cases/flowstore.md 22, 23 and 25: what a file format would like to change.
func readTexts(e *env) {
	texts := []string{
		"", "\n", "\n\nx\n", "  x  ", "a\r\nb\rc\n", "]]>", "]]", `if (a[b[0]]>1) return "]]>";`, "a\x00b",
		"\x1b[31mred\x1b[0m", "a\ufffeb\uffff", `literal \u{0007} and \\`, "\ufeffstart", "👩\u200d👩\u200d👧\u0301\u3099",
		"<tag attr=\"1\">&amp;</tag>", "\t tab \t", "\u0085\u2028\u2029", strings.Repeat("紡ぎ", 10_000),
	}
	for i, text := range texts {
		e.createNode(numbered("text", i), text)
	}
	for flushed := range 2 {
		for i, want := range texts {
			if got := e.node(numbered("text", i)).Texts[0].Content; got != want {
				e.Errorf("wrote %.40q, read %.40q (flushed %d times)", want, got, flushed)
			}
		}
		_, err := e.store.Flush(e.Context(), e.ns)
		e.must(err)
	}
}

// fullNode has every field, none of them at its zero value.
func fullNode() node.Node {
	temperature, topK, seed, score := 0.8, 40, uint32(4294967295), -4.5
	return node.Node{
		Score: &score, Note: "よい。\r\n終わりは弱い。\n", ID: id("full"), Created: start, Model: "gemma-2-2b-jpn-it", Tags: []string{"タグ：名", "yes", "a&b"},
		Texts: []node.Text{
			{Role: "system", Content: "あなたは作家です。"},
			{Role: "user", Content: "続きを書いてください。", Count: 6, Duration: 1.25, Rate: 4.8},
			{Role: "assistant", Content: "　春の夜だった。\n", Count: 14, Duration: 0.0825, Rate: 169.69696969},
		},
		Summary: node.Summary{Text: "春の夜の話", Built: start.Add(time.Hour)},
		Generation: &node.Generation{
			Backend: "gemma", Kind: "llamacpp", Address: "http://127.0.0.1:18080", Tokenizer: "abc123", Model: "gemma.gguf",
			Window: 4096, PromptDigest: "0123abcd", Task: "CONT_INFO", PickSeed: 7, Picks: []string{"story.note#0=1"},
			Sampling: &sampling.Sampling{
				Temperature: &temperature, TopP: &temperature, MinP: &temperature, TypicalP: &temperature, TopA: &temperature, TailFree: &temperature,
				RepeatPenalty: &temperature, RepeatSlope: &temperature, RepeatRange: &topK, PresencePenalty: &temperature, FrequencyPenalty: &temperature,
				DRY: &sampling.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Range: 1024, Breakers: []string{"\n", "」"}},
				XTC: &sampling.XTC{Probability: 0.5, Threshold: 0.1}, Mirostat: &sampling.Mirostat{Mode: 2, Tau: 5, Eta: 0.1},
				DynamicTemperature: &sampling.DynamicTemperature{Range: 0.5, Exponent: 1}, Smoothing: &sampling.Smoothing{Factor: 0.3, Curve: 1},
				LogitBias: []sampling.Bias{{Token: 5, Bias: -100}}, BanEOS: true, Grammar: "root ::= \"はい\"\n",
				TopK: &topK, Seed: &seed, MaxTokens: 250, Stop: []string{"\n\n", "」"},
			},
			PromptTokens: 3900, CachedTokens: 12, AnswerTokens: 14, PromptSeconds: 1.5, AnswerSeconds: 2.75,
			Finish: "backend_error", Fault: "cut", Branch: "雨", Error: "the model server closed the connection", RequestDigest: "ffee",
		},
	}
}

// fullFlow has every field, none of them at its zero value, but for what only a hand can put in.
func fullFlow() flow.Flow {
	title, empty, text := "紡ぐ", "", "一行目\n二行目: # - 'x'\n"
	return flow.Flow{
		ID: id("full"), Name: "長い夜: #1", Description: "説明\n二行目", Created: start, Updated: start.Add(time.Minute),
		Story: flow.Story{
			Title: &title, Keywords: []string{"春", "夜"}, Genres: []string{"恋愛"}, Synopsis: &text, Setting: &empty,
			Plot: &text, Note: &text, DialogueLevel: &title, Rating: &title,
		},
		Members: []flow.Member{{Index: 1, Node: id("a")}, {Index: 2, Node: id("b")}, {Index: 4, Node: id("c")}},
		Edges:   []flow.Edge{{From: 1, To: 2}, {From: 1, To: 4}, {From: 2, To: 4}},
		Current: 4, Next: 5,
	}
}
