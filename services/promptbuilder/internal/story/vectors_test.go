package story_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// The instructions with the rating of most vectors.
const (
	genInfo  = "以下の情報に基づいて小説本文を生成してください。 レーティング: "
	contInfo = "参考情報と本文を踏まえ、最後の文章の自然な続きとなるように小説を生成してください。 レーティング: general"
	contZero = "本文を踏まえ、最後の文章の自然な続きとなるように小説を生成してください。 レーティング: general"
)

// vectors are those of field/wannabe.md 1.6 and the example of seed 000, byte for byte.
var vectors = []struct {
	name    string
	request story.Request
	task    story.Task
	want    string
}{
	{
		"seed 000, the worked example",
		story.Request{
			Work: story.Work{Title: "刻の迷宮", Note: "主人公の{焦り|焦り}を強調"},
			Body: "時計の針が逆回転を始めた。\n風景がぐにゃりと歪む。\n壁に飾られた絵画の人物が、ゆっくりとこちらを向いた。\n彼は口を開き、何かを伝えようとしている。\nその唇が形作ったのは",
		},
		story.ContInfo,
		"[INST]" + contInfo + "\n【参考情報】\n```\n# タイトル:\n刻の迷宮\n```\n【本文】\n```\n時計の針が逆回転を始めた。\n```\n" +
			"【この先の展開についての指示・メモ】\n```\n主人公の焦りを強調\n```\n" +
			"風景がぐにゃりと歪む。\n壁に飾られた絵画の人物が、ゆっくりとこちらを向いた。\n彼は口を開き、何かを伝えようとしている。[/INST]その唇が形作ったのは",
	},
	{
		"V1", story.Request{Body: "一。\n二。\n三。\n四。\n五は", Work: story.Work{Title: "題", Note: " 注 \n"}}, story.ContInfo,
		"[INST]" + contInfo + "\n【参考情報】\n```\n# タイトル:\n題\n```\n【本文】\n```\n一。\n```\n" +
			"【この先の展開についての指示・メモ】\n```\n注\n```\n二。\n三。\n四。[/INST]五は",
	},
	{"V2", story.Request{Body: "一。\n二。\n三。\n四"}, story.ContZero, "[INST]" + contZero + "\n一。\n二。\n三。[/INST]四"},
	{
		"V3", story.Request{Body: "一。\n二。\n三。\n四。"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n一。\n```\n二。\n三。\n四。[/INST]",
	},
	{
		"V4", story.Request{Body: "一。\n二。\n\n三。\n\n四。\n\n"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n一。\n二。\n\n```\n三。\n\n四。[/INST]",
	},
	{
		"V5", story.Request{Body: "一。\n二。\n\n\n三。\n\n四"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n一。\n二。\n```\n\n\n三。[/INST]四",
	},
	{"V6", story.Request{Body: "一。\n二。\n三。\n四。\n　"}, story.ContZero, "[INST]" + contZero + "\n一。\n二。\n三。[/INST]四。"},
	{"V7", story.Request{Body: "一。\r\n二。\r\n三。\r\n四は"}, story.ContZero, "[INST]" + contZero + "\n一。\n二。\n三。[/INST]四は"},
	{
		"V8",
		story.Request{
			Body: "　一。\n二。\n三。",
			Work: story.Work{Keywords: []string{"雨", "{夜|夜}", `"古い 鍵"`}, Genres: []string{"怪談"}, Rating: "r18", Note: "x"},
		},
		story.GenInfo,
		"[INST]" + genInfo + "r18\n# キーワード:\n雨\n夜\n古い 鍵\n\n# ジャンル:\n怪談[/INST]　一。\n二。\n三。",
	},
	{
		"V10", story.Request{Body: "一。\n二。\n三。\n四。", Work: story.Work{Synopsis: "筋", Note: "注"}, Order: story.TextFirst}, story.ContInfo,
		"[INST]" + contInfo + "\n【本文】\n```\n一。\n```\n【参考情報】\n```\n# あらすじ:\n筋\n```\n" +
			"【この先の展開についての指示・メモ】\n```\n注\n```\n二。\n三。\n四。[/INST]",
	},
	{"V11", story.Request{Body: "\n\n", Work: story.Work{Keywords: []string{""}}}, story.GenInfo, "[INST]" + genInfo + "general[/INST]\n\n"},
	{
		"V12", story.Request{Body: "一。\n二。\n三。\n「四！」 \t"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n一。\n```\n二。\n三。\n「四！」 \t[/INST]",
	},
	{
		"V13", story.Request{Body: "\n\n一。\n二。\n三。\n四。"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n\n\n一。\n```\n二。\n三。\n四。[/INST]",
	},
	{
		"all fields, in their order",
		story.Request{Work: story.Work{
			Title: " 題 ", Keywords: []string{"a", "", "b"}, Genres: []string{"g"}, Synopsis: "筋\n", Setting: "舞台", Plot: "起承転結", DialogueLevel: ptr("多い"),
		}},
		story.GenInfo,
		"[INST]" + genInfo + "general\n# タイトル:\n題\n\n# キーワード:\na\nb\n\n# ジャンル:\ng\n\n# あらすじ:\n筋\n\n# 設定:\n舞台\n\n# プロット:\n起承転結\n\n# セリフ量:\n多い[/INST]",
	},
	{
		"an empty dialogue level is metadata", story.Request{Work: story.Work{DialogueLevel: ptr("")}}, story.GenInfo,
		"[INST]" + genInfo + "general[/INST]",
	},
	{
		"note and rating are not metadata", story.Request{Work: story.Work{Note: "注", Rating: "r18"}}, story.GenZero,
		"[INST]自由に小説を生成してください。 レーティング: r18[/INST]",
	},
	{
		"the program takes any rating", story.Request{Work: story.Work{Rating: "r15"}, Compat: true}, story.GenZero,
		"[INST]自由に小説を生成してください。 レーティング: r15[/INST]",
	},
	{
		"the older heading", story.Request{Body: "一。\n二。\n三。\n四", Work: story.Work{Note: "注"}, NoteHeader: story.NoteHeaderLegacy}, story.ContZero,
		"[INST]" + contZero + "\n【オーサーズノート】\n```\n注\n```\n一。\n二。\n三。[/INST]四",
	},
	{
		"every end of line of Python", story.Request{Body: "一\r二\v三\f四\x1c五\x1d六\x1e七\u0085八\u2028九\u2029十"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n一\n二\n三\n四\n五\n六\n```\n七\n八\n九[/INST]十",
	},
	{
		"a body that ends in a separator is not complete", story.Request{Body: "一\n二\n三\n四\u2028"}, story.ContZero,
		"[INST]" + contZero + "\n一\n二\n三[/INST]四",
	},
	{
		"nor is one that ends in a full-width space", story.Request{Body: "一\n二\n三\n四。　"}, story.ContZero,
		"[INST]" + contZero + "\n一\n二\n三[/INST]四。",
	},
	{
		"a new line is complete", story.Request{Body: "一\n二\n三\n四\n"}, story.ContZero,
		"[INST]" + contZero + "\n【本文】\n```\n一\n```\n二\n三\n四[/INST]",
	},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, tt := range vectors {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := build(t, runesOf(1<<20), tt.request)
			if diff := cmp.Diff(tt.want, p.Text); diff != "" || p.Task != tt.task {
				t.Errorf("task %s, want %s; prompt (-want +got):\n%s", p.Task, tt.task, diff)
			}
		})
	}
}

func ptr(s string) *string { return &s }
