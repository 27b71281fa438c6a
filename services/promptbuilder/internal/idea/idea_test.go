package idea_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/idea"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

func TestParse(t *testing.T) {
	t.Parallel()
	whole := "# タイトル:\n刻の迷宮\n\n# キーワード:\n時計\n迷宮\n\n# ジャンル:\n怪談\n\n# あらすじ:\n一。\n二。\n\n# 設定:\n古い館。\n\n# プロット:\n起\n承\n"
	all := idea.Idea{
		Title: "刻の迷宮", Keywords: []string{"時計", "迷宮"}, Genres: []string{"怪談"}, Synopsis: "一。\n二。", Setting: "古い館。", Plot: "起\n承",
	}
	for name, tt := range map[string]struct {
		text   string
		wanted []idea.Field
		want   idea.Idea
	}{
		"as asked for":     {text: whole, want: all},
		"line ends of CR":  {text: strings.ReplaceAll(whole, "\n", "\r\n"), want: idea.Idea{Title: all.Title, Keywords: all.Keywords, Genres: all.Genres, Synopsis: "一。\r\n二。", Setting: all.Setting, Plot: "起\r\n承"}},
		"nothing":          {text: "", want: idea.Idea{Missing: idea.Fields()}},
		"only one, and on": {text: "# タイトル:\n題\n# キーワード:\n雨", wanted: []idea.Field{idea.Title}, want: idea.Idea{Title: "題", Rest: "# キーワード:\n雨"}},
		"two wanted, the first missing": {
			text: "# ジャンル:\n怪談\n# プロット:\n起", wanted: []idea.Field{idea.Title, idea.Genres},
			want: idea.Idea{Genres: []string{"怪談"}, Missing: []idea.Field{idea.Title}, Extra: []idea.Extra{{Header: "# プロット:", Text: "起"}}},
		},
		"other spellings": {
			text:   "## タイトル：題\n【キーワード】雨、夜\n**ジャンル**: 怪談／恋愛\n**あらすじ：**\n筋\n設定: 館",
			wanted: []idea.Field{idea.Title, idea.Keywords, idea.Genres, idea.Synopsis, idea.Setting},
			want:   idea.Idea{Title: "題", Keywords: []string{"雨", "夜"}, Genres: []string{"怪談", "恋愛"}, Synopsis: "筋", Setting: "館"},
		},
		"lists with marks": {text: "# キーワード:\n- 雨\n・夜\n\n* \"古い 鍵\"\n", wanted: []idea.Field{idea.Keywords}, want: idea.Idea{Keywords: []string{"雨", "夜", "古い 鍵"}}},
		"what is extra is told": {
			text: "はい。\n# タイトル:\n題\n# セリフ量:\n多い\n# タイトル:\n別の題\n", wanted: []idea.Field{idea.Title, idea.Plot},
			want: idea.Idea{Title: "題", Missing: []idea.Field{idea.Plot}, Extra: []idea.Extra{
				{Text: "はい。"}, {Header: "# セリフ量:", Text: "多い"}, {Header: "# タイトル:", Text: "別の題"},
			}},
		},
		"a colon in a text is no header": {text: "# あらすじ:\n彼は言った: 待て\n設定と違う: はず\n", wanted: []idea.Field{idea.Synopsis}, want: idea.Idea{Synopsis: "彼は言った: 待て\n設定と違う: はず"}},
		"an empty part is missing":       {text: "# タイトル:\n\n# プロット:\n起", wanted: []idea.Field{idea.Title, idea.Plot}, want: idea.Idea{Plot: "起", Missing: []idea.Field{idea.Title}}},
		"the text goes on with a header of another kind": {
			text: "# あらすじ:\n筋\n## 結末: 雨\n# 登場人物:\n主人公", wanted: []idea.Field{idea.Synopsis},
			want: idea.Idea{Synopsis: "筋\n## 結末: 雨", Rest: "# 登場人物:\n主人公"},
		},
		"a text of chapters": {
			text: "# プロット:\n\n# 第一章: 出会い\nあ\n# 第二章: 別れ\nい\n# 設定:\n館", wanted: []idea.Field{idea.Plot},
			want: idea.Idea{Plot: "# 第一章: 出会い\nあ\n# 第二章: 別れ\nい", Rest: "# 設定:\n館"},
		},
		"another kind before the rest": {
			text: "# あらすじ:\n筋\n# 登場人物:\n主人公\n# タイトル:\n題", wanted: []idea.Field{idea.Title, idea.Synopsis},
			want: idea.Idea{Synopsis: "筋\n# 登場人物:\n主人公", Title: "題"},
		},
		"a thought": {
			text: "\n<think>\n# タイトル: 仮\n</think>\n\n# タイトル:\n題", wanted: []idea.Field{idea.Title},
			want: idea.Idea{Title: "題", Extra: []idea.Extra{{Text: "<think>\n# タイトル: 仮\n</think>"}}},
		},
		"a thought that the prompt began": {
			text: "# タイトル: 仮\n</think>\n# タイトル:\n題", wanted: []idea.Field{idea.Title},
			want: idea.Idea{Title: "題", Extra: []idea.Extra{{Text: "# タイトル: 仮\n</think>"}}},
		},
		"a thought without an end": {
			text: "[THINK]\n# タイトル: 仮", wanted: []idea.Field{idea.Title},
			want: idea.Idea{Missing: []idea.Field{idea.Title}, Extra: []idea.Extra{{Text: "[THINK]\n# タイトル: 仮"}}},
		},
		"in a fence": {text: "```markdown\n" + whole + "```\n", want: all},
		"in a fence, with words around it": {
			text: "はい。\n\n~~~\n\n" + whole + "~~~\n以上です。", want: func() idea.Idea {
				with := all
				with.Extra = []idea.Extra{{Text: "はい。"}, {Text: "以上です。"}}
				return with
			}(),
		},
		"each in a fence": {
			text: "```\n# タイトル:\n題\n```\n\n```\n# 設定:\n館\n```", wanted: []idea.Field{idea.Title, idea.Setting},
			want: idea.Idea{Title: "題", Setting: "館"},
		},
		"a fence in a part": {
			text: "````\n# 設定:\n```\n図\n```\n````", wanted: []idea.Field{idea.Setting}, want: idea.Idea{Setting: "```\n図\n```"},
		},
		"a fence in a part with what looks like a header": {
			text: "# プロット:\n```\nx\n# 設定:\ny\n```\n起\n# 設定:\n館", wanted: []idea.Field{idea.Plot, idea.Setting},
			want: idea.Idea{Plot: "```\nx\n# 設定:\ny\n```\n起", Setting: "館"},
		},
		"a fence in a part that is never closed": {
			text: "# プロット:\n````\nx\n# 設定:\n館\n```", wanted: []idea.Field{idea.Plot, idea.Setting},
			want: idea.Idea{Plot: "````\nx", Setting: "館\n```"},
		},
		"what stands under a title": {
			text: "# タイトル:\n霧笛\n\nこの物語は港の話です。\n# 設定:\n館", wanted: []idea.Field{idea.Title, idea.Setting},
			want: idea.Idea{Title: "霧笛", Setting: "館", Extra: []idea.Extra{{Header: "# タイトル:", Text: "この物語は港の話です。"}}},
		},
		"a heading ends what has none": {
			text: "# タイトル:\n【霧笛】\n# 登場人物\n千夏\n# キーワード:\n霧\n#港\n## 登場人物\n波", wanted: []idea.Field{idea.Title, idea.Keywords, idea.Plot},
			want: idea.Idea{Title: "【霧笛】", Keywords: []string{"霧", "#港"}, Missing: []idea.Field{idea.Plot}, Extra: []idea.Extra{
				{Header: "# 登場人物", Text: "千夏"}, {Header: "## 登場人物", Text: "波"},
			}},
		},
		"an item of a plot is no header": {
			text: "# プロット:\n- 設定: 港\n設定: 夜\n- 千夏が来る\n**設定**: 館", wanted: []idea.Field{idea.Plot, idea.Setting},
			want: idea.Idea{Plot: "- 設定: 港\n設定: 夜\n- 千夏が来る", Setting: "館"},
		},
		"a fence around something else": {
			text: "```\nx\n```\n# 設定: 館\n```", wanted: []idea.Field{idea.Setting},
			want: idea.Idea{Setting: "館\n```", Extra: []idea.Extra{{Text: "```\nx\n```"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, idea.Parse(tt.text, tt.wanted)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestParseShort: small things that models write.
func TestParseShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]idea.Idea{
		"# キーワード: 雨\n港\n猫":                      {Keywords: []string{"雨", "港", "猫"}},
		"# キーワード:\n雨,港\n夜":                      {Keywords: []string{"雨", "港", "夜"}},
		"# キーワード:\n-5度\n- 雨\n-夜\nC++/C\n1.5倍":   {Keywords: []string{"-5度", "雨", "夜", "C++/C", "1.5倍"}},
		"# キーワード:\n1. 雨\n2) **夜**\n\"古い, 鍵\"":   {Keywords: []string{"雨", "夜", "古い, 鍵"}},
		"# キーワード: \"雨\", 彼の\"夜\"":               {Keywords: []string{"雨", "彼の\"夜\""}},
		"# キーワード:\r-\r雨\r":                      {Keywords: []string{"-", "雨"}},
		"# あらすじ: 一行目。\n二行目。":                    {Synopsis: "一行目。\n二行目。"},
		"# あらすじ: 一行目。\r二行目。\r# 設定:\r館":          {Synopsis: "一行目。\r二行目。", Setting: "館"},
		"# プロット:\n# 第一章: 出会い\nあ\n## 第二章: 別れ\nい": {Plot: "# 第一章: 出会い\nあ\n## 第二章: 別れ\nい"},
		"# タイトル: **夜の港**":                       {Title: "夜の港"},
		"# タイトル:\n**夜の港**":                      {Title: "夜の港"},
		"**タイトル: 夜の港**":                         {Title: "夜の港"},
		"**タイトル**: 夜の**港**":                     {Title: "夜の**港**"},
		"1. タイトル: 夜\n- 設定: 館":                   {Title: "夜", Setting: "館"},
		"\ufeff# タイトル:\n夜":                      {Title: "夜"},
		"# 【タイトル】夜\n**【設定】**\n館":                {Title: "夜", Setting: "館"},
		"＃ タイトル：\n夜\n＃＃ 設定：館":                   {Title: "夜", Setting: "館"},
		"＃【タイトル】：夜\n＃役：x":                       {Title: "夜", Extra: []idea.Extra{{Header: "＃役：x", Text: "x"}}},
		"# タイトル\n夜":                             {Title: "夜"},
		"**タイトル**\n夜\n1. **設定**\n館":             {Title: "夜", Setting: "館"},
		"## 1. タイトル\n夜\n- **設定**\n館":            {Title: "夜", Setting: "館"},
		"■タイトル\n夜\n◆ 設定：館":                      {Title: "夜", Setting: "館"},
		"# タイトル:\n題\n# 役: x\ny": {
			Title: "題", Extra: []idea.Extra{{Header: "# 役: x", Text: "x\ny"}},
		},
	} {
		got := idea.Parse(text, nil)
		got.Missing = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
}

// TestNothingIsLost: every word of an answer is in what was read, and no two words of different lines on one line.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := []string{
			"", "", "", "", "# タイトル: ", "# キーワード:", "【ジャンル】", "## あらすじ: ", "**設定**: ", "プロット：", "# 第一章: ", "# 役", "- ", "1. ", "**タイトル: ", "＃設定：",
			"```\n", "<think>", "</think>",
		}
		tails := []string{"", "", "**", ":", "、", "\"", " # ", "　"}
		ends := []string{"\n", "\n\n", "\r", "\r\n", "\u2028", "\n　"}
		var text strings.Builder
		lineOf := map[string]int{}
		for i := range rapid.IntRange(0, 12).Draw(t, "lines") {
			text.WriteString(rapid.SampledFrom(heads).Draw(t, "head"))
			for j := range rapid.IntRange(0, 2).Draw(t, "words") {
				word := fmt.Sprintf("w%d_%d;", i, j)
				lineOf[word] = i
				text.WriteString(word + rapid.SampledFrom(tails).Draw(t, "tail"))
			}
			text.WriteString(rapid.SampledFrom(ends).Draw(t, "end"))
		}
		wanted := rapid.SliceOfDistinct(rapid.SampledFrom(idea.Fields()), rapid.ID).Draw(t, "wanted")
		whole := told(idea.Parse(text.String(), wanted))
		for word := range lineOf {
			if !strings.Contains(whole, word) {
				t.Fatalf("%s of %q is lost in %q", word, text.String(), whole)
			}
		}
		for _, line := range textline.All(whole) {
			last := -1
			for _, word := range regexp.MustCompile(`w\d+_\d+;`).FindAllString(line, -1) {
				if n := lineOf[word]; last >= 0 && n != last {
					t.Fatalf("%q joins lines of %q", line, text.String())
				}
				last = lineOf[word]
			}
		}
	})
}

// told is everything that was read of an answer.
func told(i idea.Idea) string {
	all := slices.Concat([]string{i.Title}, i.Keywords, i.Genres, []string{i.Synopsis, i.Setting, i.Plot})
	for _, e := range i.Extra {
		all = append(all, e.Header, e.Text)
	}
	return strings.Join(append(all, i.Rest), "\n")
}

// FuzzParse: every answer is read, and what is left is its end.
func FuzzParse(f *testing.F) {
	f.Add("<think>a</think>\n```markdown\n＃ タイトル：題\n# 設定:\n# x: y\n```\nz", true)
	f.Add("はい。\n# タイトル:\n題\n## x: y\n【設定】館\n", true)
	f.Fuzz(func(t *testing.T, text string, some bool) {
		var wanted []idea.Field
		if some {
			wanted = []idea.Field{idea.Title}
		}
		got := idea.Parse(text, wanted)
		if got.Rest != "" && !strings.HasSuffix(text, got.Rest) {
			t.Fatalf("%q is not the end of %q", got.Rest, text)
		}
	})
}
