package search_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/rangetable"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// corpus is a store in memory that is searched by reading everything, as a person would define what is right.
type corpus struct {
	nodes map[uuid.UUID]node.Node
	flows map[string][]uuid.UUID
	read  int
	// folded remembers what Fold gives.
	folded map[string]string
}

func (c *corpus) fold(text string) string {
	if _, known := c.folded[text]; !known {
		c.folded[text] = search.Fold(text)
	}
	return c.folded[text]
}

func (c *corpus) Texts(_ context.Context, id uuid.UUID) ([]node.Text, uint64, bool, error) {
	c.read++
	n, found := c.nodes[id]
	return n.Texts, 0, found, nil
}

func (c *corpus) Members(_ context.Context, flow string) ([]uuid.UUID, error) {
	ids, known := c.flows[flow]
	if !known {
		return nil, &search.FlowError{}
	}
	return ids, nil
}

// wanted is a query in parts: as text, and as what a node must be like.
type wanted struct {
	parts   []string
	words   []string
	accepts []func(n node.Node) bool
	tags    []string
	roles   []string
}

func (w *wanted) counted(c *corpus, n node.Node) []string {
	var out []string
	for _, t := range n.Texts {
		if len(w.roles) == 0 || slices.Contains(w.roles, t.Role) {
			out = append(out, c.fold(t.Content))
		}
	}
	return out
}

func contains(texts []string, word string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, word) })
}

// scripts are those without blanks; the first holds what follows a character of any of them.
var scripts = []*unicode.RangeTable{
	rangetable.New([]rune("ー々ゝゞヽヾ")...), unicode.Hiragana, unicode.Katakana, unicode.Han, unicode.Hangul,
}

// scriptOf is -1 for what no such script has.
func scriptOf(r rune) int {
	return slices.IndexFunc(scripts, func(s *unicode.RangeTable) bool { return unicode.Is(s, r) })
}

func isLetter(r rune) bool {
	return scriptOf(r) < 0 && (r == '_' || unicode.In(r, unicode.L, unicode.Nd, unicode.M))
}

// starts says by reading whether a word of the texts begins as the term does.
func starts(texts []string, term string) bool {
	first := []rune(term)
	for _, text := range texts {
		switch {
		case scriptOf(first[0]) >= 0:
			if len(first) == 1 || scriptOf(first[1]) < 0 {
				first = first[:1]
			} else {
				first = first[:2]
			}
			if startsDense([]rune(text), first) {
				return true
			}
		case isLetter(first[0]):
			lead := latin(term)[0]
			for _, w := range latin(text) {
				if len(w) <= 64 && (lead == term && strings.HasPrefix(w, lead) || w == lead) {
					return true
				}
			}
		case strings.Contains(text, term):
			return true
		}
	}
	return false
}

func latin(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !isLetter(r) })
}

func startsDense(text, first []rune) bool {
	for i := range text {
		if !slices.Equal(text[i:min(len(text), i+len(first))], first) {
			continue
		}
		before := i - 1
		for before > 0 && scriptOf(text[before]) == 0 && scriptOf(text[before-1]) >= 0 {
			before--
		}
		if before < 0 || scriptOf(text[before]) < 0 || scriptOf(text[i]) != 0 && scriptOf(text[before]) != scriptOf(text[i]) {
			return true
		}
	}
	return false
}

// scan reads all nodes.
func (c *corpus) scan(w *wanted) []uuid.UUID {
	type found struct {
		n            node.Node
		starts, tags int
	}
	var all []found
	for _, n := range c.nodes {
		texts := w.counted(c, n)
		if slices.ContainsFunc(w.accepts, func(accept func(node.Node) bool) bool { return !accept(n) }) ||
			slices.ContainsFunc(w.words, func(word string) bool { return !contains(texts, word) }) {
			continue
		}
		f := found{n: n}
		var every []string
		for _, t := range n.Texts {
			every = append(every, c.fold(t.Content))
		}
		for _, word := range w.words {
			if starts(every, word) {
				f.starts++
			}
		}
		for _, tag := range slices.Concat(w.tags, w.words) {
			if slices.ContainsFunc(n.Tags, func(t string) bool { return c.fold(t) == strings.TrimSpace(tag) }) {
				f.tags++
			}
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(b.starts-a.starts, b.tags-a.tags, b.n.Created.Compare(a.n.Created), slices.Compare(b.n.ID[:], a.n.ID[:]))
	})
	var out []uuid.UUID
	for _, f := range all {
		out = append(out, f.n.ID)
	}
	return out
}

// Whatever is asked, the index gives what reading every node gives, in the same order, on pages of any size; also after nodes
// were replaced and removed, and after a snapshot.
func TestEqualToALinearScan(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	r := writer{rand.New(rand.NewPCG(5, 4))}
	c := &corpus{nodes: map[uuid.UUID]node.Node{}, flows: map[string][]uuid.UUID{}, folded: map[string]string{}}
	x := search.New()
	for range 400 {
		put(t, c, x, r.node())
	}
	const queries = 2000
	for i := range queries {
		switch i {
		case queries / 4:
			churn(t, r, c, x)
		case queries / 2:
			x = reread(t, x)
		case queries * 3 / 4:
			churn(t, r, c, x)
			if x.Compact(); x.Dead() != 0 {
				t.Fatal(x.Dead())
			}
		}
		ids := sorted(c)
		c.flows = map[string][]uuid.UUID{"one": ids[:len(ids)/2], "the other": ids[len(ids)/4:]}
		w := r.wanted(c, ids)
		text, size := strings.Join(w.parts, pick(r, []string{" ", "　", "\n "})), pick(r, []int{0, 11, 100})
		got := all(t, x, c, text, size)
		if want := c.scan(w); !slices.Equal(got, want) {
			t.Fatalf("%s\n got %v\nwant %v", text, got, want)
		}
	}
}

func put(t *testing.T, c *corpus, x *search.Index, n node.Node) {
	t.Helper()
	c.nodes[n.ID] = n
	if err := x.Put(n, 0); err != nil {
		t.Fatal(err)
	}
}

func churn(t *testing.T, r writer, c *corpus, x *search.Index) {
	t.Helper()
	for i, id := range sorted(c) {
		switch i % 5 {
		case 0:
			delete(c.nodes, id)
			if !x.Remove(id) || x.Remove(id) {
				t.Fatal("Remove does not say whether the node was there")
			}
			put(t, c, x, r.node())
		case 1:
			n := r.node()
			n.ID = id
			put(t, c, x, n)
		}
	}
	if x.Len() != len(c.nodes) || x.Dead() == 0 {
		t.Fatalf("%d nodes and %d dead", x.Len(), x.Dead())
	}
}

func sorted(c *corpus) []uuid.UUID {
	var ids []uuid.UUID
	for id := range c.nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// all pages through the hits, each page with the same total.
func all(t *testing.T, x *search.Index, c *corpus, text string, size int) []uuid.UUID {
	t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var ids []uuid.UUID
	total := -1
	for page := (search.Page{Size: size, Reads: search.MaxReads}); ; {
		res, err := x.Search(t.Context(), c, q.In(zone), page)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if res.Approximate || total >= 0 && res.Total != total || res.Next != "" && len(res.Hits) != max(size, 1) && size != 0 {
			t.Fatalf("%s: %s", text, fmt.Sprint(res.Approximate, res.Total, total, len(res.Hits)))
		}
		total = res.Total
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
		if page.After = res.Next; page.After == "" {
			break
		}
	}
	if total != len(ids) {
		t.Fatalf("%s: the total is %d, and there are %d", text, total, len(ids))
	}
	return ids
}
