package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// renamedCases change what a flow is called after it was asked for.
func renamedCases() []testCase {
	return []testCase{
		{Search, "flow: by the name that a flow has now, and not by that of one that is gone", func(e *env) {
			e.createFlow("twin", "a")
			e.createFlow("other", "c")
			rename := func(to string) {
				e.must(e.update(func(tx store.Tx) error {
					return tx.ChangeFlow(id("twin"), flow.Change{At: tx.Now(), Name: &to})
				}))
			}
			e.same([]string{"c"}, e.found("-tag:x flow:other"))
			rename("other")
			e.unknown("flow:twin", "names no flow")
			e.unknown("flow:other", "may be any of "+flow.Name(min2(id("other"), id("twin"))))
			e.must(e.drop(aFlow("twin")))
			e.same([]string{"c"}, e.found("-tag:x flow:other"))
			e.must(e.restore(aFlow("twin")))
			e.unknown("flow:other", "may be any of ")
			rename("twin")
			e.same([]string{"c"}, e.found("-tag:x flow:other"))
			e.same([]string{"a"}, e.found("-tag:x flow:twin"))
			e.must(e.purge(aFlow("other")))
			e.unknown("flow:other", "names no flow")
		}},
	}
}

func searchCases() []testCase {
	return append(slices.Concat(foundCases(), lookedForCases(), renamedCases()), []testCase{
		{Search, "flow: by id, by name, and not by a name that two have", func(e *env) {
			e.createFlow("novel", "a", "b")
			e.createFlow("other", "c")
			e.same([]string{"a", "b"}, e.found("-tag:x flow:"+id("novel").String()))
			e.same([]string{"a", "b"}, e.found(`-tag:x flow:"flows/`+id("novel").String()+`"`))
			e.same([]string{"c"}, e.found("-tag:x flow:other"))
			e.same([]string{"a", "b"}, e.found("-tag:x -flow:other"))
			e.unknown("flow:nobody", "names no flow")
			e.unknown("flow:"+id("nobody").String(), "names no flow")
			e.must(e.update(func(tx store.Tx) error {
				return tx.CreateFlow(flow.Flow{ID: id("twin"), Name: "other", Created: tx.Now(), Updated: tx.Now(), Next: 1})
			}))
			e.unknown("flow:other", "may be any of "+flow.Name(min2(id("other"), id("twin"))))
			e.must(e.drop(aFlow("twin")))
			e.same([]string{"c"}, e.found("-tag:x flow:other"))
		}},
		{Search, "a namespace that nobody wrote to has nothing, and says what is wrong all the same", func(e *env) {
			e.same([]string(nil), e.found("夜"))
			e.unknown("flow:novel", "names no flow")
			_, err := e.store.Tags(e.Context(), e.ns, "", "", search.MaxTagPage+1)
			if bad := (*search.PageError)(nil); !errors.As(err, &bad) {
				e.Errorf("%v", err)
			}
			e.same(store.TagPage{}, e.tags("", "", 10))
		}},
		{Search, "tags are counted, and gone with the last node that has them", func(e *env) {
			e.tagged("1", "Budget")
			e.clock.move(time.Second)
			e.tagged("2", "budget", "夜")
			e.clock.move(time.Second)
			e.tagged("3", "ｂｕｄｇｅｔ", "Budget")
			e.same(store.TagPage{Tags: []search.Tag{{Name: "Budget", Key: "budget", Nodes: 3}}, Next: "budget"}, e.tags("", "", 1))
			e.same(store.TagPage{Tags: []search.Tag{{Name: "夜", Key: "夜", Nodes: 1}}}, e.tags("", "budget", 1))
			e.same(store.TagPage{Tags: []search.Tag{{Name: "Budget", Key: "budget", Nodes: 3}}}, e.tags("ＢＵ", "", 10))
			e.must(e.drop(aNode("1")))
			e.must(e.drop(aNode("2")))
			e.same(store.TagPage{Tags: []search.Tag{{Name: "Budget", Key: "budget", Nodes: 1}}}, e.tags("", "", 10))
			e.must(e.drop(aNode("3")))
			e.same(store.TagPage{}, e.tags("", "", 10))
		}},
		{Durability, "what is found is the same when the store is opened again", func(e *env) {
			e.createNode("a", "夜の駅")
			e.createNode("b", "夜の港")
			e.createNode("c", "夜明け")
			e.must(e.drop(aNode("c")))
			e.same([]string{"a", "b"}, e.found("夜"))
			e.reopen()
			e.same([]string{"a", "b"}, e.found("夜"))
			e.createNode("d", "夜警")
			e.reopen()
			e.same([]string{"a", "b", "d"}, e.found("夜"))
		}},
	}...)
}

func foundCases() []testCase {
	return []testCase{
		{Search, "found as soon as it is written, and never as it was", func(e *env) {
			e.createNode("a", "夜の駅")
			e.same([]string{"a"}, e.found("駅"))
			e.must(e.update(func(tx store.Tx) error {
				n := textNode("a", "夜の港")
				n.Created = e.node("a").Created
				return tx.ReplaceNode(n)
			}))
			e.same([]string(nil), e.found("駅"))
			e.same([]string{"a"}, e.found("夜の港"))
			_, err := e.store.Flush(e.Context(), e.ns)
			e.must(err)
			e.same([]string{"a"}, e.found("夜の港"))
		}},
		{Search, "the trash is not found, and what comes back is", func(e *env) {
			e.createNode("a", "夜の駅")
			e.createNode("b", "夜の港")
			e.must(e.drop(aNode("a")))
			e.same([]string{"b"}, e.found("夜"))
			e.must(e.restore(aNode("a")))
			e.same([]string{"a", "b"}, e.found("夜"))
		}},
		{Search, "a function that fails leaves nothing to be found", func(e *env) {
			e.is(e.update(func(tx store.Tx) error {
				e.must(tx.CreateNode(textNode("a", "夜")))
				return store.ErrFull
			}), store.ErrFull)
			e.same([]string(nil), e.found("夜"))
		}},
	}
}

func lookedForCases() []testCase {
	return []testCase{
		{Search, "what is found is what a look through all texts finds", func(e *env) {
			texts := map[string]string{
				"a": "重跑gen-itgc后50条悬空引用", "b": "雨の日はquick fix", "c": "quick ok サンドボックス修正テスト", "d": "こんにちは、世界", "e": "ＡＰＩ設計 ①",
			}
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				e.createNode(name, texts[name])
			}
			for _, word := range []string{"悬空", "itgc", "雨", "quick", "ボックス", "ちは", "は、世", "api", "1", "設計", "修正テスト", "ix", "存在しない"} {
				var want []string
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					if strings.Contains(search.Fold(texts[name]), search.Fold(word)) {
						want = append(want, name)
					}
				}
				e.same(want, e.found(word))
			}
		}},
		{Search, "pages go on where the last one ended", func(e *env) {
			for i := range 5 {
				e.createNode(numbered("n", i), "夜")
				e.clock.move(time.Second)
			}
			var all []uuid.UUID
			page := search.Page{Size: 2}
			for {
				r := e.search("夜", page)
				if r.Total != 5 || r.Approximate {
					e.Errorf("%+v", r)
				}
				for _, h := range r.Hits {
					all = append(all, h.ID)
				}
				if page.After = r.Next; r.Next == "" {
					break
				}
			}
			e.same([]uuid.UUID{id("n-4"), id("n-3"), id("n-2"), id("n-1"), id("n-0")}, all)
		}},
		{Races, "each writer finds what it wrote", writersFind},
	}
}

func writersFind(e *env) {
	for i, err := range together(8, func(i int) error {
		for j := range 20 {
			text := fmt.Sprintf("w%dx%d", i, j)
			if err := e.update(func(tx store.Tx) error { return tx.CreateNode(textNode(text, text)) }); err != nil {
				return err
			}
			q, err := search.Parse(`"` + text + `"`)
			if err != nil {
				return err
			}
			r, err := e.store.Search(e.Context(), e.ns, q, search.Page{Size: 100})
			if err != nil || !slices.ContainsFunc(r.Hits, func(h search.Hit) bool { return h.ID == id(text) }) {
				return fmt.Errorf("%s: %+v, %w", text, r, err)
			}
		}
		return nil
	}) {
		if err != nil {
			e.Errorf("writer %d: %v", i, err)
		}
	}
}

// tagged stores a node with tags.
func (e *env) tagged(name string, tags ...string) {
	e.Helper()
	n := node.Node{ID: id(name), Tags: tags, Texts: []node.Text{{Role: "user", Content: name}}}
	e.must(e.update(func(tx store.Tx) error {
		n.Created = tx.Now()
		return tx.CreateNode(n)
	}))
}

func (e *env) search(query string, page search.Page) search.Result {
	e.Helper()
	q, err := search.Parse(query)
	e.must(err)
	r, err := e.store.Search(e.Context(), e.ns, q, page)
	e.must(err)
	return r
}

// found gives the names of the nodes that a query finds, a to e, sorted.
func (e *env) found(query string) []string {
	e.Helper()
	r := e.search(query, search.Page{})
	if r.Approximate || r.Total != len(r.Hits) {
		e.Errorf("%s: %+v", query, r)
	}
	var entries []store.Entry
	for _, h := range r.Hits {
		entries = append(entries, store.Entry{ID: h.ID})
	}
	list := names(entries)
	slices.Sort(list)
	return list
}

// unknown expects that a flow cannot be told.
func (e *env) unknown(query, says string) {
	e.Helper()
	q, err := search.Parse(query)
	e.must(err)
	_, err = e.store.Search(e.Context(), e.ns, q, search.Page{})
	if bad := (*search.QueryError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), says) {
		e.Errorf("%s: %v", query, err)
	}
}

func (e *env) tags(prefix, after string, size int) store.TagPage {
	e.Helper()
	page, err := e.store.Tags(e.Context(), e.ns, prefix, after, size)
	e.must(err)
	return page
}

func min2(a, b uuid.UUID) uuid.UUID {
	if a.String() < b.String() {
		return a
	}
	return b
}
