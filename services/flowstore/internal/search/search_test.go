package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

// indexed puts nodes of one text each. Their ids are their numbers, and all were made at the same time.
func indexed(t testing.TB, contents ...string) (*search.Index, *corpus) {
	t.Helper()
	x, c := search.New(), &corpus{nodes: map[uuid.UUID]node.Node{}, flows: map[string][]uuid.UUID{}}
	for i, content := range contents {
		n := node.Node{ID: uuid.UUID{byte(i)}, Texts: []node.Text{{Role: "user", Content: content}}}
		c.nodes[n.ID] = n
		if err := x.Put(n, 0); err != nil {
			t.Fatal(err)
		}
	}
	return x, c
}

func look(t testing.TB, x *search.Index, s search.Source, query string, page search.Page) search.Result {
	t.Helper()
	q, err := search.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	res, err := x.Search(t.Context(), s, q.In(zone), page)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// found gives the numbers of the nodes in their order.
func found(t testing.TB, x *search.Index, s search.Source, query string) []int {
	t.Helper()
	ids := []int{}
	for _, h := range look(t, x, s, query, search.Page{}).Hits {
		ids = append(ids, int(h.ID[0]))
	}
	return ids
}

// Public reports of words that were not found (cases/flowstore.md 26).
func TestFlowstore26ShortWordsAndGluedWords(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, "重跑gen-itgc后50条悬空引用", "雨の日はquick fix", "quick ok サンドボックス修正テスト", "こんにちは、世界", "再試行する", "外国人参政権")
	for query, want := range map[string]string{
		"悬空": "[0]", "itgc": "[0]", "雨": "[1]", "quick ok": "[2]", "ボックス": "[2]", "ちは": "[3]", `"は、世"`: "[3]", "再試": "[4]", "行す": "[4]",
		"参政": "[5]", "存在しない": "[]", "gen-itgc后50": "[0]", "en-it": "[0]", "en-itg条": "[]", "ui": "[2 1]", "o": "[2]", "人参": "[5]", "、": "[3]",
	} {
		if got := fmt.Sprint(found(t, x, c, query)); got != want {
			t.Errorf("%s found %s, not %s", query, got, want)
		}
	}
}

// Forms of one character (cases/flowstore.md 28), and where they stand in the original.
func TestFlowstore28FormsOfCharacters(t *testing.T) {
	t.Parallel()
	texts := []string{"ＡＰＩ設計 ①", "ﾌﾟﾛﾝﾌﾟﾄ", "か\u3099くにん", "パニック です", "Straße", "〜と～", "a \u3000\n b", "ΣΑΣ λέω"}
	x, c := indexed(t, texts...)
	for query, want := range map[string]string{
		"api": "ＡＰＩ", "1": "①", "プロンプト": "ﾌﾟﾛﾝﾌﾟﾄ", "ロン": "ﾛﾝ", "がくにん": "か\u3099くにん", "パニック": "パニック", "ぷろんぷと": "", "STRASSE": "",
		"straße": "Straße", "～と": "〜と", "と〜": "と～", "~と~": "〜と～", `"A B"`: "a \u3000\n b", "が": "か\u3099", "σας": "ΣΑΣ", "σασ": "ΣΑΣ",
	} {
		got := ""
		for _, h := range look(t, x, c, query, search.Page{}).Hits {
			got += texts[h.ID[0]][h.Highlights[0].Start:h.Highlights[0].End]
		}
		if got != want {
			t.Errorf("%s found %q, not %q", query, got, want)
		}
	}
}

func TestOrderOfHits(t *testing.T) {
	t.Parallel()
	x, c := indexed(t)
	day := func(d int) time.Time { return time.Date(2026, 5, d, 0, 0, 0, 0, zone) }
	for i, n := range []node.Node{
		{Created: day(9), Texts: []node.Text{{Content: "東京都、quickly"}}},                            // 京都 begins no word
		{Created: day(1), Texts: []node.Text{{Content: "の京都。quick"}}},                              // both words begin one
		{Created: day(2), Texts: []node.Text{{Content: "の京都。quick"}}},                              // newer
		{Created: day(1), Texts: []node.Text{{Content: "の京都。quick"}}},                              // as old as 1, and the larger id
		{Created: day(1), Texts: []node.Text{{Content: "京都 quick"}}, Tags: []string{"京都"}},         // with a tag
		{Created: day(1), Texts: []node.Text{{Content: "東京都 unquick"}}, Tags: []string{"京都", "夜"}}, // neither
	} {
		n.ID = uuid.UUID{byte(i)}
		put(t, c, x, n)
	}
	if got := fmt.Sprint(found(t, x, c, "京都 quick")); got != "[4 2 3 1 0 5]" {
		t.Error(got)
	}
	if got := fmt.Sprint(found(t, x, c, "tag:京都 tag:夜,港,京都")); got != "[5 4]" {
		t.Error(got)
	}
}

func TestHighlights(t *testing.T) {
	t.Parallel()
	x, c := indexed(t)
	n := node.Node{ID: uuid.UUID{1}, Texts: []node.Text{
		{Role: "system", Content: "夜行列車"}, {Role: "user", Content: "夜行 夜行列車 Ｎight night"}, {Role: "assistant", Content: "夜"}, {Role: "tool", Content: strings.Repeat("夜 ", 70)},
	}}
	put(t, c, x, n)
	hit := func(query string) search.Hit {
		hits := look(t, x, c, query, search.Page{}).Hits
		if len(hits) != 1 {
			t.Fatalf("%s: %v", query, hits)
		}
		return hits[0]
	}
	var got []string
	for _, h := range hit("夜行 行列 night role:user,assistant").Highlights {
		got = append(got, fmt.Sprint(h.Text, n.Texts[h.Text].Content[h.Start:h.End]))
	}
	if want := []string{"1夜行", "1夜行列", "1Ｎight", "1night"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if h := hit("夜"); len(h.Highlights) != search.MaxHighlights || !h.More {
		t.Errorf("%d highlights, more: %v", len(h.Highlights), h.More)
	}
	if h := hit("-港 role:user"); len(h.Highlights) != 0 || h.More {
		t.Errorf("%+v", h)
	}
}

// The place in the original of any piece of a folded text is one that folds to that piece, or to more where a character
// came apart.
func TestHighlightsAreTheText(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{"か\u3099", "ﾌﾟ", "①", "㍿", "ﬁ", " ", "\n", "夜", "a", "Ａ", "É", "e\u0301", "\u0301", "각", "〜", "🙂", "\u00a8", "\u0344"})
	rapid.Check(t, func(r *rapid.T) {
		text := "x" + strings.Join(rapid.SliceOfN(parts, 1, 12).Draw(r, "text"), "")
		folded := []rune(search.Fold(text))
		from := rapid.IntRange(0, len(folded)-1).Draw(r, "from")
		to := rapid.IntRange(from+1, len(folded)).Draw(r, "to")
		word := string(folded[from:to])
		if strings.TrimSpace(word) == "" {
			return
		}
		x, c := indexed(t, text)
		hits := look(t, x, c, quoted(word), search.Page{}).Hits
		if len(hits) != 1 || len(hits[0].Highlights) == 0 {
			r.Fatalf("%q in %q: %+v", word, text, hits)
		}
		for _, h := range hits[0].Highlights {
			if got := search.Fold(text[h.Start:h.End]); !strings.Contains(got, strings.TrimSpace(word)) {
				r.Fatalf("%q in %q is %q", word, text, got)
			}
		}
	})
}

// With few reads nothing is lost: pages end early and go on, and the total says that it is not exact.
func TestFewReads(t *testing.T) {
	t.Parallel()
	contents := make([]string, 60)
	for i := range contents {
		contents[i] = "全文、文検と検索" // each pair of 全文検索, and not the word
		if i%10 == 0 {
			contents[i] = "全文検索"
		}
	}
	x, c := indexed(t, contents...)
	res := look(t, x, c, "全文検索", search.Page{Size: 100, Reads: 7})
	// Of the 53 that were not read one in eight is taken to hold it: the next one.
	if c.read != 7 || !res.Approximate || res.Total != 7 || res.Next == "" {
		t.Errorf("%d reads; %+v", c.read, res)
	}
	var ids []byte
	for page := (search.Page{Size: 2, Reads: 7}); ; {
		next := look(t, x, c, "全文検索", page)
		for _, h := range next.Hits {
			ids = append(ids, h.ID[0])
		}
		if !next.Approximate {
			t.Errorf("%+v", next)
		}
		if page.After = next.Next; page.After == "" {
			break
		}
	}
	if !slices.Equal(ids, []byte{50, 40, 30, 20, 10, 0}) {
		t.Error(ids)
	}
	if res := look(t, x, c, "全文検索", search.Page{}); res.Approximate || res.Total != 6 || len(res.Hits) != 6 {
		t.Errorf("%+v", res)
	}
	c.read = 0
	if res := look(t, x, c, "全文", search.Page{Size: 3}); c.read != 3 || res.Total != 60 || res.Approximate {
		t.Errorf("%d reads for what the index knows: %+v", c.read, res)
	}
}

// A total that takes too long does with the nodes that were read, at least 50, and takes it that of the others as many are meant.
func TestATotalThatTakesTooLong(t *testing.T) {
	t.Parallel()
	contents := make([]string, 200)
	for i := range contents {
		contents[i] = "全文、文検と検索"
		if i%4 == 0 {
			contents[i] = "全文検索"
		}
	}
	x, c := indexed(t, contents...)
	asked := 0
	enough := func(after int) func() bool {
		asked, c.read = 0, 0
		return func() bool { asked++; return asked > after }
	}
	for _, step := range []struct{ after, read, least, most int }{{0, 50, 35, 70}, {100, 150, 45, 55}} {
		res := look(t, x, c, "全文検索", search.Page{Size: 1, Enough: enough(step.after)})
		if c.read != step.read || !res.Approximate || res.Total < step.least || res.Total > step.most || len(res.Hits) != 1 {
			t.Errorf("%+v: %d reads, %+v", step, c.read, res)
		}
	}
	if res := look(t, x, c, "全文検索", search.Page{Size: 1, Enough: enough(1000)}); c.read != 200 || res.Approximate || res.Total != 50 {
		t.Errorf("%d reads, %+v", c.read, res)
	}
}

func TestApproximate(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, "夜", "夜の駅", "夜の港")
	x.SetPartial(true)
	if res := look(t, x, c, "夜", search.Page{}); !res.Approximate || res.Total != 3 {
		t.Errorf("%+v", res)
	}
	x.SetPartial(false)
	delete(c.nodes, uuid.UUID{1})
	if res := look(t, x, c, "夜", search.Page{}); !res.Approximate || res.Total != 2 || len(res.Hits) != 2 {
		t.Errorf("a node that went: %+v", res)
	}
}

func TestPagesThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, "夜")
	q, err := search.Parse("夜")
	if err != nil {
		t.Fatal(err)
	}
	for field, page := range map[string]search.Page{
		"page_size": {Size: 101}, "page_size ": {Size: -1}, "reads": {Reads: 100_001}, "reads ": {Reads: -1}, "page_token": {After: "x"},
	} {
		_, err := x.Search(t.Context(), c, q, page)
		if bad := (*search.PageError)(nil); !errors.As(err, &bad) || bad.Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, _, err := x.Tags("", "", 1001); err == nil || !strings.Contains(err.Error(), "page_size is 1001; it must be 1 to 1000") {
		t.Error(err)
	}
}

// twins knows two flows of one name.
type twins struct{ corpus }

func (*twins) Members(context.Context, string) ([]uuid.UUID, error) {
	return nil, &search.FlowError{Matches: []string{"flows/1", "flows/2"}}
}

func TestFlowsThatCannotBeTold(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, "夜")
	q, err := search.Parse("夜 flow:novel,駅 -flow:x")
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[search.Source]string{
		c:                `at character 8, "novel" names no flow; write its id, or the name that it alone has; at character 14, "駅" names`,
		&twins{corpus{}}: `at character 8, "novel" may be any of flows/1, flows/2; write one of these`,
	} {
		_, err := x.Search(t.Context(), source, q, search.Page{})
		if bad := (*search.QueryError)(nil); !errors.As(err, &bad) || len(bad.Violations) != 3 || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

// broken is a store whose disk fails.
type broken struct{ corpus }

var errDisk = errors.New("input/output error")

func (*broken) Texts(context.Context, uuid.UUID) ([]node.Text, uint64, bool, error) {
	return nil, 0, false, errDisk
}

func TestSearchEndsWithTheSource(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, "夜の駅")
	q, err := search.Parse("夜の駅")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), &broken{}, q, search.Page{}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, c, q, search.Page{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	x, c := indexed(t)
	for i, tags := range [][]string{{"夜", "draft"}, {"Draft", "ｄｒａｆｔ"}, {"Draft"}, {"駅", " "}, nil} {
		put(t, c, x, node.Node{ID: uuid.UUID{byte(i)}, Tags: tags})
	}
	list := func(prefix, after string, size int) string {
		page, next, err := x.Tags(prefix, after, size)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(page, next)
	}
	if got := list("", "", 10); got != "[{draft draft 3} {夜 夜 1} {駅 駅 1}]" {
		t.Error(got)
	}
	if got := list("", "", 2) + list("", "夜", 2) + list("ＤＲ", "", 2); got != "[{draft draft 3} {夜 夜 1}]夜[{駅 駅 1}][{draft draft 3}]" {
		t.Error(got)
	}
	x.Remove(uuid.UUID{1})
	put(t, c, x, node.Node{ID: uuid.UUID{2}, Tags: []string{"駅"}})
	if got := list("", "", 10); got != "[{draft draft 1} {夜 夜 1} {駅 駅 2}]" {
		t.Error(got)
	}
	older := node.Node{ID: uuid.UUID{9}, Tags: []string{"ＤＲＡＦＴ"}, Created: time.Unix(-1<<40, 0)}
	put(t, c, x, older)
	if got := list("", "", 1); got != "[{ＤＲＡＦＴ draft 2}]draft" {
		t.Error(got)
	}
	if got := fmt.Sprint(x.Tagged()); got != fmt.Sprint([]search.Tagged{
		{Name: "夜", Nodes: []uuid.UUID{{0}}}, {Name: "駅", Nodes: []uuid.UUID{{2}, {3}}}, {Name: "ＤＲＡＦＴ", Nodes: []uuid.UUID{{0}, {9}}},
	}) {
		t.Error(got)
	}
}

// Writers and searches at the same time: the race detector looks on, and a search sees each node as it was or as it is.
func TestTogether(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, "夜の駅 quick", "夜の駅 quick", "夜の駅 quick")
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 300 {
			id := uuid.UUID{byte(i % 3)}
			if err := x.Put(c.nodes[id], 0); err != nil {
				t.Error(err)
			}
			if i%100 == 99 {
				x.Compact()
			}
		}
	})
	for _, query := range []string{"夜の", "の駅 qui"} {
		wg.Go(func() {
			mine := &corpus{nodes: c.nodes}
			for range 300 {
				if res := look(t, x, mine, query, search.Page{}); res.Total != 3 {
					t.Errorf("%+v", res)
				}
			}
		})
	}
	wg.Wait()
}
