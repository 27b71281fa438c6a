package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// The last 200 changes of a flow go back and come again, with restarts in between.
func TestUndoAcrossRestarts(t *testing.T) {
	t.Parallel()
	const steps, more = 200, 5
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	name := newFlow(t, c)
	var parents []string
	for range steps + more {
		n, err := add(c, name, "a", "", parents...)
		if err != nil {
			t.Fatal(err)
		}
		parents = []string{n}
	}
	want, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	restart := func() {
		t.Helper()
		stop(t, a)
		a = start(t, data)
		c = client(t, a)
	}
	move := func(move func() (*flowstorev1.UndoFlowResponse, error), undo, redo func(i int) int) (last *flowstorev1.UndoFlowResponse) {
		t.Helper()
		for i := range steps {
			if i%67 == 0 {
				restart()
			}
			got, err := move()
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			if int(got.GetUndoCount()) != undo(i) || int(got.GetRedoCount()) != redo(i) {
				t.Fatalf("behind step %d are %d and %d", i, got.GetUndoCount(), got.GetRedoCount())
			}
			last = got
		}
		if _, err := move(); reason(t, err) != "NOTHING_TO_UNDO" {
			t.Errorf("behind the last one: %v", err)
		}
		return last
	}
	down, up := func(i int) int { return steps - i - 1 }, func(i int) int { return i + 1 }
	undone := move(func() (*flowstorev1.UndoFlowResponse, error) {
		return c.UndoFlow(t.Context(), &flowstorev1.UndoFlowRequest{Flow: name})
	}, down, up)
	if got := undone.GetFlow(); len(got.GetNodes()) != more || got.GetCurrent() != got.GetNodes()[more-1].GetNode() {
		t.Errorf("all undone: %v", got)
	}
	again := move(func() (*flowstorev1.UndoFlowResponse, error) {
		return c.RedoFlow(t.Context(), &flowstorev1.RedoFlowRequest{Flow: name})
	}, up, down)
	if diff := cmp.Diff(want, again.GetFlow(), protocmp.Transform(), protocmp.IgnoreFields(&flowstorev1.Flow{}, "update_time", "etag")); diff != "" {
		t.Error(diff)
	}
	stop(t, a)
}

func reason(t *testing.T, err error) string {
	t.Helper()
	e, ok := apierr.FromStatus(err)
	if !ok {
		t.Fatalf("not an error of ours: %v", err)
	}
	return e.Reason
}

// A hand in the flow's file stands in the way where it wrote what the change wrote, and nowhere else; its edit stays.
func TestUndoBesideHands(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	name := newFlow(t, c)
	first, err := add(c, name, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := add(c, name, "b", "", first)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(data, "default", "flows", "000", "000.yaml")
	// hand edits the file while nobody works on it.
	hand := func(old, text string) {
		t.Helper()
		stop(t, a)
		was, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(was), old) {
			t.Fatalf("%v: %s", err, was)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(was), old, text, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		a = start(t, data)
		c = client(t, a)
	}
	hand("connections:", "# 手\nconnections:")
	hand("description: \"\"", "description: by hand")
	undone, err := c.UndoFlow(t.Context(), &flowstorev1.UndoFlowRequest{Flow: name})
	if err != nil || undone.GetFlow().GetDescription() != "by hand" || len(undone.GetFlow().GetNodes()) != 1 {
		t.Fatalf("%v: %v", err, undone)
	}
	redone, err := c.RedoFlow(t.Context(), &flowstorev1.RedoFlowRequest{Flow: name})
	if err != nil || len(redone.GetFlow().GetEdges()) != 1 {
		t.Fatalf("%v: %v", err, redone)
	}
	hand("  - from: 1\n    to: 2\n", "  - from: 1\n    to: 2\n    name: 雨\n")
	if _, err := c.UndoFlow(t.Context(), &flowstorev1.UndoFlowRequest{Flow: name}); err != nil {
		t.Fatalf("a name that nobody wrote before: %v", err)
	}
	if _, err := c.RedoFlow(t.Context(), &flowstorev1.RedoFlowRequest{Flow: name}); err != nil {
		t.Fatal(err)
	}
	hand("  - from: 1\n    to: 2\n", "  - from: 2\n    to: 1\n  - from: 1\n    to: 2\n")
	_, err = c.UndoFlow(t.Context(), &flowstorev1.UndoFlowRequest{Flow: name})
	if reason(t, err) != "UNDO_REFUSED" || !strings.Contains(err.Error(), "the edge from 2 to 1 was left absent and is there now") {
		t.Errorf("%v", err)
	}
	got, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: name})
	if err != nil || len(got.GetNodes()) != 2 || got.GetNodes()[1].GetNode() != second {
		t.Errorf("%v: %v", err, got)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "# 手") {
		t.Errorf("the hand's comment went: %v\n%s", err, text)
	}
	stop(t, a)
}

// What is deleted moves to the trash as it is, is there after a restart, and comes back.
func TestTrashAcrossRestarts(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	name := newFlow(t, c)
	n, err := add(c, name, "夜明け前", "")
	if err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	place := func(path string) string { return filepath.Join(data, "default", path, "nodes", "000", "000.xml") }
	want, err := os.ReadFile(place(""))
	if err != nil {
		t.Fatal(err)
	}
	holds := func(at, not string) {
		t.Helper()
		stop(t, a)
		if got, err := os.ReadFile(place(at)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %s", err, got)
		}
		if _, err := os.Stat(place(not)); !os.IsNotExist(err) {
			t.Errorf("it stands at %s, too: %v", place(not), err)
		}
		a = start(t, data)
		c = client(t, a)
	}
	a = start(t, data)
	c = client(t, a)
	deleted, err := c.DeleteNode(t.Context(), &flowstorev1.DeleteNodeRequest{Name: n, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SPLICE})
	if err != nil || len(deleted.GetFlows()) != 1 {
		t.Fatalf("%v: %v", err, deleted)
	}
	holds("trash", "")
	listed, err := c.ListNodes(t.Context(), &flowstorev1.ListNodesRequest{Deleted: true})
	if err != nil || len(listed.GetNodes()) != 1 || listed.GetNodes()[0].GetNode().GetTexts()[0].GetContent() != "夜明け前" {
		t.Fatalf("%v: %v", err, listed)
	}
	if _, err := c.UndeleteNode(t.Context(), &flowstorev1.UndeleteNodeRequest{Name: n}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.UndoFlow(t.Context(), &flowstorev1.UndoFlowRequest{Flow: name}); err != nil {
		t.Fatal(err)
	}
	holds("", "trash")
	got, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: name})
	if err != nil || len(got.GetNodes()) != 1 || got.GetNodes()[0].GetNode() != n {
		t.Errorf("%v: %v", err, got)
	}
	stop(t, a)
}
