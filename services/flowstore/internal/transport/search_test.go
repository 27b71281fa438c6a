package transport_test

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// searchFor gives one page of what a query finds.
func searchFor(t *testing.T, c flowstorev1.FlowStoreServiceClient, query string) *flowstorev1.SearchNodesResponse {
	t.Helper()
	return must[*flowstorev1.SearchNodesResponse](t)(c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: query}))
}

func create(t *testing.T, c flowstorev1.FlowStoreServiceClient, text string, tags ...string) *flowstorev1.Node {
	t.Helper()
	n := said(text)
	n.Tags = tags
	return must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: n}))
}

func TestFlowstore26WordsOverRPC(t *testing.T) {
	t.Parallel()
	c := serve(t)
	texts := []string{"重跑gen-itgc后50条悬空引用", "雨の日はquick fix", "quick ok サンドボックス修正テスト", "こんにちは、世界", "再試行する", "外国人参政権"}
	var names []string
	for _, text := range texts {
		names = append(names, create(t, c, text).GetName())
	}
	for query, want := range map[string]int{
		"悬空": 0, "itgc": 0, "雨": 1, "quick ok": 2, "ボックス": 2, "ちは": 3, `"は、世"`: 3, "再試": 4, "行す": 4, "参政": 5, "存在しない": -1,
	} {
		found := searchFor(t, c, query)
		if want < 0 && found.GetTotalSize() == 0 && len(found.GetHits()) == 0 {
			continue
		}
		if want < 0 || found.GetTotalSize() != 1 || found.GetApproximate() || found.GetHits()[0].GetNode().GetName() != names[want] {
			t.Errorf("%s: %v", query, found)
		}
	}
}

// Places are characters of the text as it is stored, whatever folding made of it.
func TestFlowstore28HighlightsPointIntoTheOriginal(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for _, text := range []string{"🧵 ＡＰＩ設計 ①", "🧵 ﾌﾟﾛﾝﾌﾟﾄ", "🧵 か\u3099くにん", "🧵 パニック です", "🧵 Straße", "🧵 〜と～"} {
		create(t, c, text)
	}
	for query, want := range map[string][]string{
		"api": {"ＡＰＩ"}, "1": {"①"}, "プロンプト": {"ﾌﾟﾛﾝﾌﾟﾄ"}, "がくにん": {"か\u3099くにん"}, "パニック": {"パニック"}, "ぷろんぷと": nil, "STRASSE": nil,
		"straße": {"Straße"}, "～": {"〜", "～"}, "〜": {"〜", "～"},
	} {
		var got []string
		for _, hit := range searchFor(t, c, query).GetHits() {
			whole := []rune(hit.GetNode().GetTexts()[0].GetContent())
			for _, h := range hit.GetHighlights() {
				got = append(got, string(whole[h.GetOffset():h.GetOffset()+h.GetLength()]))
				if snippet := []rune(h.GetSnippet()); string(snippet) != string(whole[h.GetSnippetOffset():int(h.GetSnippetOffset())+len(snippet)]) {
					t.Errorf("%s: the snippet %q does not stand at %d", query, h.GetSnippet(), h.GetSnippetOffset())
				}
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: found %q, want %q", query, got, want)
		}
	}
}

func TestSnippetsAreShort(t *testing.T) {
	t.Parallel()
	c := serve(t)
	create(t, c, strings.Repeat("前", 100)+"灯"+strings.Repeat("後", 500))
	h := searchFor(t, c, "灯").GetHits()[0].GetHighlights()[0]
	if h.GetOffset() != 100 || h.GetLength() != 1 || h.GetSnippetOffset() != 70 || utf8.RuneCountInString(h.GetSnippet()) != 120 {
		t.Errorf("%v", h)
	}
	if hits := searchFor(t, c, "-tag:x").GetHits(); len(hits) != 1 || len(hits[0].GetHighlights()) != 0 || hits[0].GetNode().GetTexts()[0].GetCharacterCount() != 601 {
		t.Errorf("%v", hits)
	}
}

func TestPagesOfASearch(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for range 5 {
		create(t, c, "夜の駅", "夜")
	}
	req := &flowstorev1.SearchNodesRequest{Query: "夜の駅", PageSize: 2}
	seen := map[string]bool{}
	for {
		page := must[*flowstorev1.SearchNodesResponse](t)(c.SearchNodes(t.Context(), req))
		if page.GetTotalSize() != 5 || len(page.GetHits()) > 2 {
			t.Errorf("%v", page)
		}
		for _, hit := range page.GetHits() {
			seen[hit.GetNode().GetName()] = true
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			break
		}
		_, err := c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: "駅", PageToken: req.PageToken})
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
		_, err = c.ListTags(t.Context(), &flowstorev1.ListTagsRequest{PageToken: req.PageToken})
		expect(t, err, "InvalidArgument INVALID_PAGE_TOKEN", "page_token")
	}
	if len(seen) != 5 {
		t.Errorf("%d of 5 nodes were on the pages", len(seen))
	}
}

func TestAQueryThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	c := serve(t)
	_, err := c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: `夜 role:poet flow:nobody "港`})
	expect(t, err, "InvalidArgument INVALID_QUERY", "query", "query")
	_, err = c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: `夜 flow:nobody`})
	expect(t, err, "InvalidArgument INVALID_QUERY", "query")
}

// tagsOf lists all tags as `name count`, page by page.
func tagsOf(t *testing.T, c flowstorev1.FlowStoreServiceClient, size int32) map[string]int32 {
	t.Helper()
	all, req := map[string]int32{}, &flowstorev1.ListTagsRequest{PageSize: size}
	for {
		page := must[*flowstorev1.ListTagsResponse](t)(c.ListTags(t.Context(), req))
		for _, tag := range page.GetTags() {
			all[tag.GetTag()] = tag.GetNodeCount()
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return all
		}
	}
}

func TestFlowstore07TagsOfSeveralSpellings(t *testing.T) {
	t.Parallel()
	c := serve(t)
	first := create(t, c, "1", "Budget")
	second, third := create(t, c, "2", "budget"), create(t, c, "3", "ｂｕｄｇｅｔ", "Budget")
	if got := tagsOf(t, c, 1); len(got) != 1 || got["Budget"] != 3 {
		t.Errorf("%v", got)
	}
	if got := searchFor(t, c, "tag:BUDGET").GetTotalSize(); got != 3 {
		t.Errorf("%d nodes", got)
	}
	again := must[*flowstorev1.Node](t)(c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: first.GetName()}))
	if again.GetTags()[0] != "Budget" {
		t.Errorf("%v", again.GetTags())
	}
	for _, gone := range []struct {
		nodes []*flowstorev1.Node
		want  map[string]int32
	}{{[]*flowstorev1.Node{first, second}, map[string]int32{"Budget": 1}}, {[]*flowstorev1.Node{third}, map[string]int32{}}} {
		for _, n := range gone.nodes {
			must[*flowstorev1.DeleteNodeResponse](t)(c.DeleteNode(t.Context(), &flowstorev1.DeleteNodeRequest{Name: n.GetName()}))
		}
		if got := tagsOf(t, c, 1); !maps.Equal(got, gone.want) {
			t.Errorf("%v are left, want %v", got, gone.want)
		}
	}
}

func TestFlowstore20TagsOverRPC(t *testing.T) {
	t.Parallel()
	c := serve(t)
	tags := []string{
		"yes", "NO", "null", "~", "2024-01-01", "2024-09-19T01:52:55.944", "12:30:45", "1_000", "0x1F", "<<", ": ", "#x", "- a", " lead", "a\nb", "タグ：名", "🙂",
	}
	create(t, c, "x", tags...)
	for _, size := range []int32{1, 0} {
		got := tagsOf(t, c, size)
		if len(got) != len(tags) {
			t.Errorf("%d tags of %d: %v", len(got), len(tags), got)
		}
		for _, tag := range tags {
			if got[tag] != 1 {
				t.Errorf("%q is not there", tag)
			}
		}
	}
	_, err := c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Tags: []string{""}, Texts: said("x").GetTexts()}})
	expect(t, err, "InvalidArgument INVALID_FIELD", "node.tags[0]")
}
