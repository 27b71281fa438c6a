package idea_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/idea"
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, idea.Parse(tt.text, tt.wanted)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for _, f := range idea.Fields() {
		got := idea.Parse(idea.Header(f)+"\nx", []idea.Field{f})
		if got.Missing != nil || got.Extra != nil {
			t.Errorf("%s is not read under its own header: %+v", f, got)
		}
	}
}

// FuzzParse: nothing of an answer is lost.
func FuzzParse(f *testing.F) {
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
