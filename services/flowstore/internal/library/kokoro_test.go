package library_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// A whole novel as one flow of 1,320 nodes: what is found is what a look through it finds, and it is read back byte for byte, from
// memory, from the files, and after a restart.
func TestANovelAsOneFlow(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	novel := string(data)
	pieces := slices.Collect(strings.Lines(novel))
	if len(pieces) != 1320 {
		t.Fatalf("the novel has %d lines", len(pieces))
	}
	dir := t.TempDir()
	s, err := files.Open(files.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	l := library.New(s, &counting{})
	flowID := writeNovel(t, l, pieces)
	if got := readNovel(t, l, flowID); got != novel {
		t.Fatal("the novel is not what was written")
	}
	findInNovel(t, l, pieces)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = files.Open(files.Options{Data: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	l = library.New(s, &counting{})
	if got := readNovel(t, l, flowID); got != novel {
		t.Error("the novel is not what was written, after a restart")
	}
	findInNovel(t, l, pieces)
}

func writeNovel(t *testing.T, l *library.Library, pieces []string) uuid.UUID {
	t.Helper()
	f, err := l.CreateFlow(t.Context(), "default", library.NewFlow{Flow: flow.Flow{Name: "こころ"}})
	if err != nil {
		t.Fatal(err)
	}
	var parents []uuid.UUID
	for _, piece := range pieces {
		n := node.Node{Texts: []node.Text{{Role: "assistant", Content: piece}}}
		placed, err := l.AddNode(t.Context(), "default", library.Addition{Flow: f.ID, New: &n, Parents: parents})
		if err != nil {
			t.Fatal(err)
		}
		parents = []uuid.UUID{placed.Node.ID}
	}
	if _, err := l.SetCurrent(t.Context(), "default", f.ID, parents[0]); err != nil {
		t.Fatal(err)
	}
	return f.ID
}

func readNovel(t *testing.T, l *library.Library, flowID uuid.UUID) string {
	t.Helper()
	var b strings.Builder
	q := library.PathQuery{Flow: flowID, MaxNodes: 500, MaxBytes: 4 << 20}
	for {
		page, err := l.Path(t.Context(), "default", q)
		if err != nil {
			t.Fatal(err)
		}
		for _, on := range page.Nodes {
			for _, text := range on.Texts {
				b.WriteString(text.Content)
			}
		}
		if q.After = page.Next; page.Next == (library.Place{}) {
			return b.String()
		}
	}
}

// findInNovel looks for words of one to eight characters that stand in the novel, and some that do not.
func findInNovel(t *testing.T, l *library.Library, pieces []string) {
	t.Helper()
	words := []string{"先生", "私", "奥さん", "襖", "精神的に向上心", "K", "ウィスキー", "存在しない言葉", "、", "海"}
	for i := 0; i < len(pieces); i += 31 {
		piece := []rune(pieces[i])
		words = append(words, string(piece[len(piece)/2:min(len(piece), len(piece)/2+1+i%8)]))
	}
	for _, word := range words {
		folded, want := search.Fold(word), 0
		if strings.TrimSpace(folded) == "" {
			continue
		}
		for _, piece := range pieces {
			if strings.Contains(search.Fold(piece), folded) {
				want++
			}
		}
		q, err := search.Parse(`flow:こころ "`+strings.ReplaceAll(word, `"`, `""`)+`"`, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		got, ids := 0, map[uuid.UUID]bool{}
		page := search.Page{Size: search.MaxPage, Reads: search.MaxReads}
		for {
			found, err := l.Search(t.Context(), "default", q, page)
			if err != nil || found.Total != want || found.Approximate {
				t.Fatalf("%q: %d nodes, approximate %t, want %d: %v", word, found.Total, found.Approximate, want, err)
			}
			for _, item := range found.Items {
				got++
				ids[item.ID] = true
				if !slices.ContainsFunc(item.Highlights, func(h library.Highlight) bool { return strings.Contains(search.Fold(h.Snippet), folded) }) {
					t.Errorf("%q: no highlight shows it: %+v", word, item.Highlights)
				}
			}
			if page.After = found.Next; found.Next == "" {
				break
			}
		}
		if got != want || len(ids) != want {
			t.Errorf("%q: %d hits of %d nodes on the pages, want %d", word, got, len(ids), want)
		}
	}
}
