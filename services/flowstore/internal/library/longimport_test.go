package library_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// longTalk is a conversation of ChatGPT with n messages, a prompt and its answer by turns.
func longTalk(n int) string {
	messages, parent := make([]string, 0, n), "-"
	for i := range n {
		role := []string{"user", "assistant"}[i%2]
		id := fmt.Sprint("m", i)
		messages, parent = append(messages, fmt.Sprintf("%s %s %s text %d", id, parent, role, i)), id
	}
	return gpt("long", parent, messages...)
}

// A conversation of 20,000 messages arrives, and so does what it became meanwhile.
func TestImportOfALongConversation(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	l, _ := newLibrary()
	same(t, transfer.Count{Imported: 8000}, bring(t, l, longTalk(16_000)).Nodes)
	same(t, transfer.Count{Imported: 2000, Skipped: 8000}, bring(t, l, longTalk(20_000)).Nodes)
	f := onlyFlow(t, l)
	if len(f.Members) != 10_000 || len(f.Edges) != 9999 || f.Current != 8000 {
		t.Errorf("%d nodes, %d edges, the reader at %d", len(f.Members), len(f.Edges), f.Current)
	}
	var b strings.Builder
	if err := l.Export(t.Context(), ns, nil, &b); err != nil {
		t.Fatal(err)
	}
	there, _ := newLibrary()
	r, err := there.Import(t.Context(), ns, strings.NewReader(b.String()), library.Importing{})
	if err != nil || r.Nodes.Imported != 10_000 || r.Failed != 0 {
		t.Errorf("our own export of it: %+v, %v", r, err)
	}
	same(t, f, onlyFlow(t, there))
}

// What a flow that is there gets from a file continues it by edges with their names.
func TestImportIntoAFlowKeepsNames(t *testing.T) {
	t.Parallel()
	l, _ := newLibrary()
	f := newFlow(t, l)
	there, _ := newLibrary()
	carry := func() {
		t.Helper()
		var b strings.Builder
		if err := l.Export(t.Context(), ns, nil, &b); err != nil {
			t.Fatal(err)
		}
		bring(t, there, b.String())
	}
	first := add(t, l, f, "first")
	carry()
	edge := library.Connection{Operation: library.Operation{Flow: f}, Parent: first, Child: add(t, l, f, "second", first), Name: "night"}
	if _, err := l.Connect(t.Context(), ns, edge); err != nil {
		t.Fatal(err)
	}
	carry()
	same(t, []flow.Edge{{From: 1, To: 2, Name: "night"}}, onlyFlow(t, there).Edges)
}
