package search

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// What is written as a list is read as it was, whichever form it takes, and is a list to one who trusts nobody.
func TestLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 300).Draw(t, "nodes")
		has := rapid.SliceOfN(rapid.IntRange(0, rapid.IntRange(2, 20).Draw(t, "rare")), nodes, nodes).Draw(t, "has")
		var want []posting
		for place, n := range has {
			if n < 2 {
				want = append(want, posting(place)<<1|posting(n))
			}
		}
		l := list(appendList(nil, want, nodes))
		if got := slices.Collect(l.postings()); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		r := listReader{l, nodes}
		if !r.next(false) || len(r.b) > 0 {
			t.Fatalf("%v is refused", l)
		}
		first := uint32(rapid.IntRange(0, 200).Draw(t, "first"))
		places, starting := make(set, 9), make(set, 9)
		places.gather(l, first, false)
		starting.gather(l, first, true)
		for place := range uint32(nodes) {
			n, at := has[place], first+place
			if bit := places[at/64]>>(at%64)&1 != 0; bit != (n < 2) {
				t.Fatalf("place %d: %v", place, bit)
			}
			if bit := starting[at/64]>>(at%64)&1 != 0; bit != (n == 1) {
				t.Fatalf("a word begins in %d: %v", place, bit)
			}
		}
	})
}

// A list takes a byte for each node that has the term, or a quarter of a byte for each node there is.
func TestListsAreShort(t *testing.T) {
	t.Parallel()
	var each, all []posting
	for place := range posting(1000) {
		all = append(all, place<<1|1)
		if place%50 == 0 {
			each = append(each, place<<1)
		}
	}
	if a, b := len(appendList(nil, each, 1000)), len(appendList(nil, all, 1000)); a != 21 || b != 252 {
		t.Errorf("%d and %d bytes", a, b)
	}
}

// Segments stay few and follow each other, however many nodes come, and each of them is as large as four of the next size.
func TestSegmentsStayFew(t *testing.T) {
	t.Parallel()
	x := New()
	for i := range 40 * tailNodes {
		n := node.Node{ID: uuid.UUID{}, Texts: []node.Text{{Content: "夜"}}}
		binary.BigEndian.PutUint32(n.ID[:], uint32(i))
		if err := x.Put(n, 0); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	place := uint32(0)
	for _, s := range x.segments {
		if s.first != place {
			t.Fatalf("a segment begins at %d, and the one before ends at %d", s.first, place)
		}
		place = s.end()
		sizes = append(sizes, s.nodes/tailNodes)
	}
	if !slices.Equal(sizes, []int{16, 16, 4, 4}) || len(x.tail) != 0 || len(x.labels) != 1 {
		t.Errorf("segments of %v tails, %d nodes in the tail, %d labels", sizes, len(x.tail), len(x.labels))
	}
	x.Compact()
	if len(x.segments) != 1 || x.segments[0].nodes != 40*tailNodes {
		t.Errorf("%d segments", len(x.segments))
	}
}

type nowhere struct{}

func (nowhere) Texts(context.Context, uuid.UUID) ([]node.Text, uint64, bool, error) {
	return []node.Text{{Content: "夜の駅"}}, 0, true, nil
}

func (nowhere) Members(context.Context, string) ([]uuid.UUID, error) { return nil, nil }

// Whoever writes may be at it for long: merging, compacting, writing a snapshot to a slow disk. A search does not wait for it.
func TestSearchesWaitForNoWriter(t *testing.T) {
	t.Parallel()
	x := New()
	if err := x.Put(node.Node{ID: uuid.UUID{1}, Texts: []node.Text{{Content: "夜の駅"}}}, 0); err != nil {
		t.Fatal(err)
	}
	q, err := Parse("夜の駅")
	if err != nil {
		t.Fatal(err)
	}
	searched := writerFunc(func(b []byte) (int, error) {
		if res, err := x.Search(t.Context(), nowhere{}, q, Page{}); err != nil || res.Total != 1 {
			t.Errorf("%+v, %v", res, err)
		}
		if !x.Has(uuid.UUID{1}) || x.Len() != 1 || len(x.IDs()) != 1 || x.Dead() != 0 {
			t.Error("the node is not there")
		}
		return len(b), nil
	})
	if err := x.Encode(searched); err != nil { // would never end
		t.Fatal(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// The short way to the script of a character says what the tables say.
func TestScripts(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		want := sign
		switch {
		case strings.ContainsRune("ー々ゝゞヽヾ", r):
			want = follower
		case unicode.Is(unicode.Hiragana, r):
			want = hiragana
		case unicode.Is(unicode.Katakana, r):
			want = katakana
		case unicode.Is(unicode.Han, r):
			want = han
		case unicode.Is(unicode.Hangul, r):
			want = hangul
		case unicode.IsSpace(r) && (r == ' ' || r >= 0x80):
			want = blank
		case r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			want = letter
		}
		if got := scriptOf(r); got != want {
			t.Fatalf("%U is of script %d, not %d", r, got, want)
		}
	}
}
