package dialog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/dialog"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func codes(t dialog.Turn) string {
	var out []string
	for _, w := range dialog.Check(t) {
		out = append(out, string(w.Code))
	}
	return strings.Join(out, " ")
}

// A person is warned when a reply asks more than one question, in Japanese and English, with and without a mark.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply, question string
		want            int
	}{
		{"どのファイルですか？拡張子は何にしますか？", "", 2},
		{"どのファイルですか? 拡張子は何にしますか?", "", 2},
		{"どのファイルですか。締切はいつでしょうか。", "", 2},
		{"締切はいつでしょうか。また、枚数は決まっていますか。それから、題名は要りますか。", "", 3},
		{"Which file do you mean? What is the deadline?", "", 2},
		{"Which file?! And when??", "", 2},
		{"1. Which file?\n2. Which colour?\n3. How long?", "", 3},
		{"- 題名は？\n- 枚数は？", "", 2},
		{"**1.** Which file do you mean? **2.** What is the deadline?", "", 2},
		{"I can do that. Is it README.md? Or docs/a.md?", "", 2},
		{"題名は何ですか？", "枚数は何枚ですか？", 2},
		{"Is this right? (I think so.) Shall I write it?", "", 2},
		{"「案」でよいですか？いつまでですか？", "", 2},
	} {
		want := []dialog.Warning{{Code: dialog.TooManyQuestions, Count: tt.want, Limit: 1}}
		if diff := cmp.Diff(want, dialog.Check(dialog.Turn{Reply: tt.reply, Question: tt.question})); diff != "" {
			t.Errorf("%s%s: %s", tt.reply, tt.question, diff)
		}
	}
}

// Ordinary replies bring no warning: one question, the same one twice, and marks in code, quotes, addresses, headings and names.
func TestNoFalseQuestions(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"", "はい。", "どのファイルですか？", "Which file do you mean?", "どのファイルですか？？", "本当ですか！？", "どのファイルですか？\n\nどのファイルですか？",
		"「なぜ？」「どうして？」と彼女は聞いた。", "『なぜ？』と『どうして？』は別の話である。", `He asked "Why?" and she asked "How?".`, "She said “Really?” and then “When?” and left. Shall I go on?",
		"```go\nx := a ? b : c // why? how?\n```\nこれでよいですか？", "`a?` and `b?` are both optional. Is that right?", "~~~\nwhy? how?\n~~~", "    if why? how?\n    who?\n",
		"https://example.org/?a=1&b=2? を見てください。https://example.org/x? でも同じです。", "正規表現 colou?r と favou?rite を使う。", "Use files named a?.txt and b?.txt.",
		"# What is Go?\nA language.\n\n# Why Go?\nIt is simple.", "**What is Go?**\nA language.\n**Why Go?**\nIt is simple.", "> Which file?\n> Which colour?\nThe first one is settled.",
		"| なぜ? | いつ? |\n|---|---|\n| a | b |", "値段は(?)円、数は(?)個です。", "なぜでしょうか？それは速いからです。ほかに直すところはありますか？", "Why? Because it is faster. Shall I go on?",
		"これでよいのではないでしょうか。そうですか。わかりました。", "行くかどうか、書くかどうか、迷うところです。", "彼はなぜ来たのか。誰も知らない。何が起きたのか。", "題名（たぶん『雨』？）と日付（未定？）を入れました。",
		"a ?? b ?? c is the operator. And ?. is another one.", "Is it a.txt?\r\nIs it a.txt?",
	} {
		if got := codes(dialog.Turn{Said: "短編の続きを書いて", Reply: reply}); got != "" {
			t.Errorf("%q: %s", reply, got)
		}
	}
	// Who asks for questions gets them, and a story may ask its reader.
	if got := codes(dialog.Turn{Said: "クイズを3つ作って", Reply: "日本一高い山は？日本一長い川は？日本一広い湖は？"}); got != "" {
		t.Error(got)
	}
	if got := codes(dialog.Turn{Said: "続きを書いて", Reply: strings.Repeat("誰が来たというのだ？何のために？\n\n", 60) + "雨はやんだ。\n\n続きを書きますか？"}); got != "" {
		t.Error(got)
	}
}

// A/B with one alternative, a summary behind a short reply, and a first step for somebody who is not stuck are seen, and what looks
// like them is not.
func TestOtherBreaches(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("あ", 600)
	for _, tt := range []struct{ said, reply, want string }{
		{"構成を考えて", "次の案があります。\n\nA案：時系列で書く", "ONE_ALTERNATIVE"},
		{"構成を考えて", "- **案A**: 時系列で書く\n進めますか？", "ONE_ALTERNATIVE"},
		{"Suggest a structure", "Here is a proposal.\n\nOption A: in order of time", "ONE_ALTERNATIVE"},
		{"構成を考えて", "プランＡ：時系列で書く", "ONE_ALTERNATIVE"},
		{"構成を考えて", "A案：時系列\nB案：回想から", ""},
		{"Suggest a structure", "Option A: in order\nOption B: flashbacks\nOption C: letters", ""},
		{"構成を考えて", "A案：時系列で、B案は回想から始めます。", ""},
		{"A案で", "A案：時系列で進めます。", ""},
		{"Go with A", "Option A: done.", ""},
		{"構成を考えて", "計画Aさんに渡す案です。提案Aという題名にはしません。", ""},
		{"構成を考えて", "```\nA案：x\n```", ""},
		{"構成を考えて", "I put option A into the file as you said.", ""},

		{"名前を変えて", "名前を変えました。\n\n要約：名前を変えた。", "NEEDLESS_SUMMARY"},
		{"名前を変えて", "名前を変えました。\n\n## まとめ\n名前を変えた。\n\n次は題名です。", "NEEDLESS_SUMMARY"},
		{"Rename it", "I renamed it.\n\nIn summary, it has a new name.", "NEEDLESS_SUMMARY"},
		{"Rename it", "I renamed it.\n\n**Summary:** it has a new name.", "NEEDLESS_SUMMARY"},
		{"名前を変えて", long + "\n\n要約：名前を変えた。", ""},
		{"要約して", "読みました。\n\n要約：雨の話です。", ""},
		{"Summarize it", "I read it.\n\nSummary: it rains.", ""},
		{"名前を変えて", "要約：名前を変えた。", ""},
		{"名前を変えて", "要約ファイルを直しました。\n\nまとめて保存しました。", ""},
		{"Rename it", "I renamed it.\n\nThe summary is in README.md.", ""},

		{"名前を変えて", "変えました。\n最初の一歩：ファイルを開く", "NEEDLESS_NUDGE"},
		{"Rename it please", "I renamed it.\n\nFirst step: open the file.", "NEEDLESS_NUDGE"},
		{"困っています。名前が変わりません", "設定を直しました。\n最初の一歩：ファイルを開く", ""},
		{"I am stuck", "I changed the setting.\nFirst step: open the file.", ""},
		{"どこから始めればいい？", "全体を三つに分けます。\n最初の一歩：題名を決める", ""},
		{"", "変えました。\n最初の一歩：ファイルを開く", ""},
		{"名前を変えて", "最初の一歩は小さいほどよい、と本にある。", ""},
		{"名前を変えて", "最初の一歩：題名\nそれから本文を直しました。", ""},

		{"名前を変えて", "どれですか？いつですか？\n\nA案：x\n\n要約：y\n最初の一歩：z", "TOO_MANY_QUESTIONS ONE_ALTERNATIVE NEEDLESS_SUMMARY NEEDLESS_NUDGE"},
	} {
		if got := codes(dialog.Turn{Said: tt.said, Reply: tt.reply}); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.said, tt.reply, got, tt.want)
		}
	}
}

// What counts as long is the caller's, as it is in the prompt, and the sentence says the numbers.
func TestSentences(t *testing.T) {
	t.Parallel()
	turn := dialog.Turn{Said: "直して", Reply: "直しました。\n\n要約：直した。", LongReply: 10}
	if got := dialog.Check(turn); len(got) != 0 {
		t.Error(got)
	}
	turn.LongReply = 20
	got := dialog.Check(turn)
	if len(got) != 1 || got[0].Sentence("ja") != "15文字の返答に要約が付いています。要約は20文字以上の返答だけです" ||
		got[0].Sentence("en") != "the reply has 15 characters and ends with a summary; that is for replies of 20 or more" {
		t.Errorf("%+v", got)
	}
	if dialog.Check(dialog.Turn{Reply: strings.Repeat("何ですか？", dialog.MaxRead)}) != nil {
		t.Error("a reply over the bound is judged")
	}
}

// Real prose brings no warning: each chapter and each paragraph of a novel, and each page and paragraph of our documents.
func TestRealTextBringsNoWarning(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(testkit.Root(t), "docs", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	pieces := 0
	for _, file := range append(files, testkit.Shared(t, "text/kokoro.txt")) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts := strings.Split(string(b), "\n\n")
		for _, paragraph := range texts {
			texts = append(texts, strings.Split(paragraph, "\n")...)
		}
		for _, text := range append(texts, string(b)) {
			pieces++
			if got := dialog.Check(dialog.Turn{Said: "続きを見せて", Reply: text}); len(got) > 0 {
				t.Errorf("%s: %v: %.300s", filepath.Base(file), got, text)
			}
		}
	}
	t.Logf("%d pieces of real text", pieces)
}

// Nothing that stands in code or in quotes adds a warning, whatever it is.
func TestCodeAndQuotesAddNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reply := rapid.SampledFrom([]string{"直しました。", "どれですか？", "Which one do you mean?", "いつですか？なぜですか？"}).Draw(t, "reply")
		inner := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"何ですか？", "Why? ", "A案：x", "いつ？", "a?b:c", "要約：x"}), 1, 6).Draw(t, "inner"), "")
		before := codes(dialog.Turn{Said: "直して", Reply: reply})
		for _, wrapped := range []string{"「" + inner + "」と書きました。", "```\n" + inner + "\n```", "『" + inner + "』です。", "> " + inner, "`" + inner + "` です。", "\"" + inner + "\" です。"} {
			if got := codes(dialog.Turn{Said: "直して", Reply: reply + "\n" + wrapped}); got != before {
				t.Fatalf("%q behind %q: %q, want %q", wrapped, reply, got, before)
			}
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add("直して", "どれですか？いつですか？", "")
	f.Add("fix it", "Option A: x\n\nSummary: y\nFirst step: z", "Why?")
	f.Add("", "「」『』“”```~~~`\"()（）https://?", "?")
	f.Fuzz(func(t *testing.T, said, reply, question string) {
		turn := dialog.Turn{Said: said, Reply: reply, Question: question}
		got := dialog.Check(turn)
		if diff := cmp.Diff(got, dialog.Check(turn)); diff != "" {
			t.Fatal(diff)
		}
		for _, w := range got {
			if strings.ContainsAny(w.Sentence("ja")+w.Sentence("en"), "{}") {
				t.Fatalf("%+v: %s", w, w.Sentence("en"))
			}
			if w.Code == dialog.TooManyQuestions && w.Count > strings.Count(reply+question, "?")+strings.Count(reply+question, "？")+strings.Count(reply+question, "か。") {
				t.Fatalf("more questions than marks: %+v", w)
			}
		}
	})
}
