package library_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// Writers who add under one head make one line, each behind the other, and no branch of its own.
func TestWritersUnderOneHead(t *testing.T) {
	t.Parallel()
	l := library.New(memory.New(clock), &counting{})
	w := draw(t, l)
	if _, err := l.Branch(t.Context(), ns, library.Branching{Operation: w.op(), Node: w.c, Name: "main"}); err != nil {
		t.Fatal(err)
	}
	const writers = 16
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			n := said(fmt.Sprint(i))
			if _, err := l.AddNode(t.Context(), ns, library.Addition{Flow: w.flow, New: &n, Head: "main"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	f := w.read(t)
	end, err := f.Head("main")
	if err != nil {
		t.Fatal(err)
	}
	if path := f.Path(end.Index); len(path) != 3+writers {
		t.Errorf("the path has %d nodes: %v", len(path), f.Edges)
	}
}
