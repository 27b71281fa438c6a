package summary_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
)

const (
	// ja and en are summaries of a good length, and tags goes with both.
	ja   = "港町を舞台に決め、方言は控えめに使うこととした。年代は昭和の初めである。"
	en   = "The user chose a harbour town as the setting and asked for a light dialect in all dialogue."
	tags = "舞台, 港町, 方言"
)

// of is the text of a repeated character.
func of(s string, n int) string { return strings.Repeat(s, n) }

// good makes what a good reply says.
func good(text string, cut int, tags ...string) summary.Reply {
	return summary.Reply{Summary: text, Tags: tags, TagsCut: cut}
}

// replies are what models reply, and what is made of it (field/systemprompt-rules.md 5, and 7.15 for the kinds). Those named S
// are case S of its chapter 6.
var replies = []struct {
	name, text string
	want       summary.Reply
	reason     summary.Reason
}{
	{"S1", "要約: 主人公の名前を相談し、三つの候補から「澪」を選び、読みと由来も決めた。\nタグ: 名前, 主人公、澪，命名",
		good("主人公の名前を相談し、三つの候補から「澪」を選び、読みと由来も決めた。", 0, "名前", "主人公", "澪", "命名"), ""},
	{"S2", "<think>考え中</think>\n```\n**要約**：[港町を舞台に決め、方言は控えめに使うこととし、\n年代は昭和の初めにした。]\n**タグ**：[#舞台、#港町、#方言、#舞台]\n```",
		good("港町を舞台に決め、方言は控えめに使うこととし、 年代は昭和の初めにした。", 0, "舞台", "港町", "方言"), ""},
	{"S3", "はい、要約します。\n要約: 港町を舞台に決め、方言は控えめに使うこととした。年代は昭和。\nタグ: 舞台, 港町, 方言", summary.Reply{}, summary.NoSummary},
	{"S4", "要約: 港町。\nタグ: 舞台, 港町, 方言", summary.Reply{}, summary.TooShort},
	{"S5", "Summary: The user chose a harbour town as the setting and asked for a light dialect in all dialogue.\nTags: setting, dialect", summary.Reply{}, summary.TooFewTags},
	{"S6", "要約: 港町を舞台に決め、方言は控えめに使うこととした。年代は昭和。\nタグ: a, b, c, d, e, f, g, h",
		good("港町を舞台に決め、方言は控えめに使うこととした。年代は昭和。", 1, "a", "b", "c", "d", "e", "f", "g"), ""},

	{"plain", "要約: " + ja + "\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"english", "Summary: " + en + "\nTags: setting, harbour, dialect", good(en, 0, "setting", "harbour", "dialect"), ""},
	{"english labels around Japanese", "summary: " + ja + "\nTAGS: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"Japanese labels around English", "要約: " + en + "\nタグ: " + tags, good(en, 0, "舞台", "港町", "方言"), ""},
	{"upper case", "SUMMARY: " + en + "\nTags: a, b, c", good(en, 0, "a", "b", "c"), ""},
	{"full-width colons", "要約：" + ja + "\nタグ：" + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"blanks around the labels", "  要約  :  " + ja + "  \n\tタグ\t:\t" + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"ideographic blanks", "　要約　：　" + ja + "\n　タグ　：　舞台、　港町、　方言", good(ja, 0, "舞台", "港町", "方言"), ""},
	{"bold", "**要約**: " + ja + "\n**タグ**: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"bold with the colon", "**要約:** " + ja + "\n**タグ:** " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"empty lines", "\n\n要約: " + ja + "\n\n\nタグ: " + tags + "\n\n", good(ja, 0, "舞台", "港町", "方言"), ""},
	{"a value on the next line", "要約:\n" + ja + "\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"a summary of three lines", "要約: 港町を舞台に\n決め、方言は控えめに使うことと\nした。年代は昭和。\nタグ: " + tags, good("港町を舞台に 決め、方言は控えめに使うことと した。年代は昭和。", 0, "舞台", "港町", "方言"), ""},
	{"CRLF", "要約: " + ja + "\r\nタグ: " + tags + "\r\n", good(ja, 0, "舞台", "港町", "方言"), ""},
	{"a BOM", "\ufeff要約: " + ja + "\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"control characters", "要約: \x1b" + ja + "\x00\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"brackets", "要約: [" + ja + "]\nタグ: [" + tags + "]", good(ja, 0, "舞台", "港町", "方言"), ""},
	{"one pair of brackets goes", "要約: [[" + ja + "]]\nタグ: " + tags, good("["+ja+"]", 0, "舞台", "港町", "方言"), ""},
	{"two pairs are no pair around", "要約: [港町] " + ja + " [昭和]\nタグ: " + tags, good("[港町] "+ja+" [昭和]", 0, "舞台", "港町", "方言"), ""},
	{"half a pair", "要約: [" + ja + "\nタグ: " + tags, good("["+ja, 0, "舞台", "港町", "方言"), ""},
	{"a colon in the summary", "要約: 決定事項: " + ja + "\nタグ: " + tags, good("決定事項: "+ja, 0, "舞台", "港町", "方言"), ""},
	{"a label in the middle of a line", "要約: " + ja + "タグ: は次の行。\nタグ: " + tags, good(ja+"タグ: は次の行。", 0, "舞台", "港町", "方言"), ""},

	{"a fence", "```\n要約: " + ja + "\nタグ: " + tags + "\n```", good(ja, 0, "舞台", "港町", "方言"), ""},
	{"a fence with a word", "```text\n要約: " + ja + "\nタグ: " + tags + "\n```\n", good(ja, 0, "舞台", "港町", "方言"), ""},
	{"two fences", "```\n```\n要約: " + ja + "\nタグ: " + tags + "\n```\n```", summary.Reply{}, summary.NoSummary},
	{"a fence that is not closed", "```\n要約: " + ja + "\nタグ: " + tags, summary.Reply{}, summary.NoSummary},
	{"a fence that is not opened", "要約: " + ja + "\nタグ: " + tags + "\n```", summary.Reply{}, summary.ExtraText},
	{"a fence around nothing", "```\n```", summary.Reply{}, summary.NoSummary},
	{"prose around a fence", "結果です。\n```\n要約: " + ja + "\nタグ: " + tags + "\n```", summary.Reply{}, summary.NoSummary},

	{"a thought", "<think>\n要約: 案\nタグ: a\n</think>\n\n要約: " + ja + "\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"a thought without its beginning", "まず考える。</think>要約: " + ja + "\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"two thoughts", "<think>a</think>要約: 古い案\n<think>b</think>\n要約: " + ja + "\nタグ: " + tags, good(ja, 0, "舞台", "港町", "方言"), ""},
	{"a thought without end", "<think>要約を考える。\n要約: " + ja + "\nタグ: " + tags, summary.Reply{}, summary.NoSummary},
	{"only a thought", "<think>難しい。</think>", summary.Reply{}, summary.NoSummary},

	{"nothing", "", summary.Reply{}, summary.NoSummary},
	{"blanks", " \n\t\n", summary.Reply{}, summary.NoSummary},
	{"only prose", ja, summary.Reply{}, summary.NoSummary},
	{"another label", "まとめ: " + ja + "\nタグ: " + tags, summary.Reply{}, summary.NoSummary},
	{"a heading for a label", "# 要約\n" + ja + "\nタグ: " + tags, summary.Reply{}, summary.NoSummary},
	{"tags first", "タグ: " + tags + "\n要約: " + ja, summary.Reply{}, summary.NoSummary},
	{"labels of another language", "Résumé: " + en + "\nMots-clés: a, b, c", summary.Reply{}, summary.NoSummary},
	{"no tags", "要約: " + ja, summary.Reply{}, summary.NoTags},
	{"tags without a label", "要約: " + ja + "\n#舞台 #港町 #方言", summary.Reply{}, summary.NoTags},
	{"all in one line", "要約: " + ja + " タグ: " + tags, summary.Reply{}, summary.NoTags},
	{"cut within the tags' label", "要約: " + ja + "\nタ", summary.Reply{}, summary.NoTags},
	{"tags as a list", "要約: " + ja + "\nタグ:\n- 舞台\n- 港町\n- 方言", summary.Reply{}, summary.ExtraText},
	{"prose behind", "要約: " + ja + "\nタグ: " + tags + "\n以上です。", summary.Reply{}, summary.ExtraText},
	{"doubled summary", "要約: " + ja + "\n要約: " + ja + "\nタグ: " + tags, summary.Reply{}, summary.ExtraText},
	{"doubled tags", "要約: " + ja + "\nタグ: " + tags + "\nタグ: " + tags, summary.Reply{}, summary.ExtraText},
	{"both languages", "要約: " + ja + "\nタグ: " + tags + "\nSummary: " + en + "\nTags: a, b, c", summary.Reply{}, summary.ExtraText},

	{"no value", "要約:\nタグ: " + tags, summary.Reply{}, summary.TooShort},
	{"19 characters", "要約: " + of("港", 19) + "\nタグ: " + tags, summary.Reply{}, summary.TooShort},
	{"20 characters, white space does not count", "要約: " + of("港　", 19) + "港\nタグ: " + tags, good(of("港　", 19)+"港", 0, "舞台", "港町", "方言"), ""},
	{"200 characters", "要約: " + of("港", 200) + "\nタグ: " + tags, good(of("港", 200), 0, "舞台", "港町", "方言"), ""},
	{"201 characters", "要約: " + of("港", 201) + "\nタグ: " + tags, summary.Reply{}, summary.TooLong},
	{"9 words", "Summary: " + of("word ", 9) + "\nTags: a, b, c", summary.Reply{}, summary.TooShort},
	{"10 words", "Summary: " + strings.TrimSpace(of("word ", 10)) + "\nTags: a, b, c", good(strings.TrimSpace(of("word ", 10)), 0, "a", "b", "c"), ""},
	{"100 words", "Summary: " + strings.TrimSpace(of("word ", 100)) + "\nTags: a, b, c", good(strings.TrimSpace(of("word ", 100)), 0, "a", "b", "c"), ""},
	{"101 words", "Summary: " + of("word ", 101) + "\nTags: a, b, c", summary.Reply{}, summary.TooLong},
	{"three letters in ten are Japanese", "要約: abcdefg港町舞 " + of("12", 8) + "\nタグ: " + tags, good("abcdefg港町舞 "+of("12", 8), 0, "舞台", "港町", "方言"), ""},
	{"fewer are not: one word", "要約: abcdefgh港町舞 " + of("12", 8) + "\nタグ: " + tags, summary.Reply{}, summary.TooShort},
	{"without letters", "要約: " + of("1", 60) + "\nタグ: " + tags, summary.Reply{}, summary.TooShort},

	{"an empty list of tags", "要約: " + ja + "\nタグ:", summary.Reply{}, summary.TooFewTags},
	{"tags that are nothing", "要約: " + ja + "\nタグ: #, ＃、，舞台,港町", summary.Reply{}, summary.TooFewTags},
	{"tags alike", "要約: " + ja + "\nタグ: Setting, setting, ＳＥＴＴＩＮＧ, ﾀｸﾞ, タグ", summary.Reply{}, summary.TooFewTags},
	{"the first of those alike stays", "要約: " + ja + "\nタグ: ＡＢ, ab, 港町, #港町, ＃方言", good(ja, 0, "ＡＢ", "港町", "方言"), ""},
	{"tags with blanks between", "要約: " + ja + "\nタグ: 港 町,方言 , 昭和", good(ja, 0, "港 町", "方言", "昭和"), ""},
	{"a tag of 40", "要約: " + ja + "\nタグ: a, b, " + of("港", 40), good(ja, 0, "a", "b", of("港", 40)), ""},
	{"a tag of 41", "要約: " + ja + "\nタグ: a, b, " + of("港", 41), summary.Reply{}, summary.TagTooLong},
	{"one of 41 behind the seventh", "要約: " + ja + "\nタグ: a, b, c, d, e, f, g, " + of("港", 41), good(ja, 1, "a", "b", "c", "d", "e", "f", "g"), ""},
}

func TestReplies(t *testing.T) {
	t.Parallel()
	if len(replies) < 60 {
		t.Errorf("%d replies", len(replies))
	}
	for _, test := range replies {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, reason := summary.DefaultNumbers().Read(test.text)
			if reason != test.reason || got.Summary != test.want.Summary || !slices.Equal(got.Tags, test.want.Tags) || got.TagsCut != test.want.TagsCut {
				t.Errorf("%+v %s, want %+v %s", got, reason, test.want, test.reason)
			}
		})
	}
}

// Whatever a model replies: what is taken of it is within the numbers, one line, and can be stored; of a bad one nothing is.
func FuzzRead(f *testing.F) {
	for _, r := range replies {
		f.Add(r.text)
	}
	n := summary.DefaultNumbers()
	f.Fuzz(func(t *testing.T, text string) {
		r, reason := n.Read(text)
		if reason != "" {
			if r.Summary != "" || r.Tags != nil {
				t.Fatalf("%+v of a bad reply", r)
			}
			return
		}
		if !utf8.ValidString(r.Summary) || strings.ContainsAny(r.Summary, "\n\r") || len(r.Tags) < n.MinTags || len(r.Tags) > n.MaxTags {
			t.Fatalf("%+v", r)
		}
		for _, tag := range r.Tags {
			if tag == "" || utf8.RuneCountInString(tag) > n.TagCharacters || strings.ContainsAny(tag, ",，、\n") {
				t.Fatalf("tag %q", tag)
			}
		}
	})
}
