package library_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
)

// gpt is a conversation of ChatGPT: each message is `id parent role text`, a parent `-` is none.
func gpt(id, current string, messages ...string) string {
	var mapping strings.Builder
	for _, m := range messages {
		f := strings.SplitN(m, " ", 4)
		parent := "null"
		if f[1] != "-" {
			parent = `"` + f[1] + `"`
		}
		message := "null"
		if f[2] != "-" {
			text, _ := json.Marshal(f[3]) //nolint:errchkjson // a text
			message = fmt.Sprintf(`{"author":{"role":%q},"create_time":null,"content":{"content_type":"text","parts":[%s]},"recipient":"all"}`, f[2], text)
		}
		fmt.Fprintf(&mapping, `,%q:{"id":%q,"parent":%s,"message":%s}`, f[0], f[0], parent, message)
	}
	return fmt.Sprintf(`{"conversation_id":%q,"title":"T %s","create_time":1700000000.5,"current_node":%q,"default_model_slug":"gpt-x","mapping":{%s}}`,
		id, id, current, strings.TrimPrefix(mapping.String(), ","))
}

func bring(t *testing.T, l *library.Library, text string) transfer.Report {
	t.Helper()
	r, err := l.Import(t.Context(), ns, strings.NewReader(text), library.Importing{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shape draws the flows with their texts: what continues what, and where the reader stands.
func shape(t *testing.T, l *library.Library) (lines []string) {
	t.Helper()
	page, err := l.Flows(t.Context(), ns, library.ListQuery{MaxItems: 100, MaxBytes: 1 << 30}, library.FlowFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		f, err := l.Flow(t.Context(), ns, item.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range f.Members {
			n, err := l.Node(t.Context(), ns, m.Node)
			if err != nil {
				t.Fatal(err)
			}
			line := ""
			for _, p := range f.Parents(m.Index) {
				line += fmt.Sprint(p.Index, ">")
			}
			line += fmt.Sprint(m.Index)
			if m.Index == f.Current {
				line += "*"
			}
			for _, text := range n.Texts {
				line += " " + text.Role[:1] + ":" + text.Content
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The system message in mid chain does not cut the conversation in two.
func TestFlowstore08SystemMessageInMidChain(t *testing.T) {
	t.Parallel()
	l, _ := newLibrary()
	r := bring(t, l, "["+gpt("c", "a2", "root - - -", "u1 root user q1", "a1 u1 assistant r1", "s a1 system hidden", "u2 s user q2", "a2 u2 assistant r2")+"]")
	same(t, []string{"1 u:q1 a:r1", "1>2* u:q2 a:r2"}, shape(t, l))
	same(t, transfer.Report{
		Flows: transfer.Count{Imported: 1}, Nodes: transfer.Count{Imported: 2}, Left: map[string]int{"system": 1},
	}, r)
}

// An archive with many files, one conversation without a mapping, messages without metadata.
func TestFlowstore10ImportTellsWhatDidNotArrive(t *testing.T) {
	t.Parallel()
	l, _ := newLibrary()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"conversations-000.json": "[" + gpt("one", "a", "u - user q", "a u assistant r") + `,{"id":"broken","title":"x"}]`,
		"conversations-001.json": "[" + gpt("two", "a", "u - user q", "a u assistant r") + "]", "user.json": "{}",
	} {
		w, err := z.Create("export/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r := bring(t, l, b.String())
	if r.Flows.Imported != 2 || r.Failed != 1 || r.Failures[0].ID != "broken" || !strings.Contains(r.Failures[0].Reason, "`mapping`") || r.Failures[0].File != "export/conversations-000.json" {
		t.Errorf("%+v", r)
	}
	same(t, []string{"export/user.json"}, r.Ignored)
	page, err := l.Nodes(t.Context(), ns, library.ListQuery{MaxItems: 100, MaxBytes: 1 << 30}, library.NodeFilter{}, true)
	if err != nil || len(page.Items) != 2 || page.Items[0].Item.Model != "gpt-x" {
		t.Errorf("%+v, %v", page, err)
	}
}

// Branches of Claude's tree are not put in a row.
func TestFlowstore11ClaudeBranches(t *testing.T) {
	t.Parallel()
	for leaf, want := range map[string][]string{
		`"m2"`: {"1* u:q1 a:r1", "2 u:q2 a:r2"}, "null": {"1 u:q1 a:r1", "2* u:q2 a:r2"}, `"m4"`: {"1 u:q1 a:r1", "2* u:q2 a:r2"},
	} {
		l, _ := newLibrary()
		r := bring(t, l, `{"uuid":"c","name":"n","model":"claude-x","current_leaf_message_uuid":`+leaf+`,"chat_messages":[
			{"uuid":"m1","sender":"human","text":"q1","parent_message_uuid":"R"},
			{"uuid":"m2","sender":"assistant","text":"","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"r1"}],"parent_message_uuid":"m1"},
			{"uuid":"m3","sender":"human","text":"q2","parent_message_uuid":"R"},
			{"uuid":"m4","sender":"assistant","text":"r2","parent_message_uuid":"m3"}]}`)
		same(t, want, shape(t, l))
		if r.Flows.Imported != 1 || r.Nodes.Imported != 2 || r.Failed != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// The same file again changes nothing, a longer one adds, a changed text is a new revision.
func TestFlowstore13ImportTwice(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	turns := []string{"u1 - user q1", "a1 u1 assistant r1", "u2 a1 user q2", "a2 u2 assistant r2", "u3 a2 user q3", "a3 u3 assistant r3"}
	same(t, transfer.Count{Imported: 2}, bring(t, l, gpt("c", "a2", turns[:4]...)).Nodes)
	f := onlyFlow(t, l)
	same(t, transfer.Count{Imported: 1, Skipped: 2}, bring(t, l, gpt("c", "a3", turns...)).Nodes)
	turns[1] = "a1 u1 assistant R1"
	changed := gpt("c", "a3", turns...)
	dry, err := l.Import(t.Context(), ns, strings.NewReader(changed), library.Importing{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	same(t, []string{"1 u:q1 a:r1", "1>2* u:q2 a:r2", "2>3 u:q3 a:r3"}, shape(t, l))
	r := bring(t, l, changed)
	same(t, dry, r)
	same(t, transfer.Count{Updated: 1, Skipped: 2}, r.Nodes)
	same(t, transfer.Count{Updated: 1}, r.Flows)
	same(t, []string{"1 u:q1 a:R1", "1>2* u:q2 a:r2", "2>3 u:q3 a:r3"}, shape(t, l))
	old, err := s.Revisions(t.Context(), ns, f.Members[0].Node)
	if err != nil || len(old) != 1 {
		t.Errorf("%v, %v", old, err)
	}
	turns[1] = "a1 u1 assistant r1" // an older export brings no older text back
	same(t, transfer.Count{Skipped: 3}, bring(t, l, gpt("c", "a3", turns...)).Nodes)
	same(t, f.Members, onlyFlow(t, l).Members[:2])
}

func onlyFlow(t *testing.T, l *library.Library) flow.Flow {
	t.Helper()
	page, err := l.Flows(t.Context(), ns, library.ListQuery{MaxItems: 100, MaxBytes: 1 << 30}, library.FlowFilter{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	f, err := l.Flow(t.Context(), ns, page.Items[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What was deleted, or taken out of the flow, does not come back; what follows it in the file goes on from what is left.
func TestImportLeavesWhatPeopleDid(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	turns := []string{"u1 - user q1", "a1 u1 assistant r1", "u2 a1 user q2", "a2 u2 assistant r2", "u3 a2 user q3", "a3 u3 assistant r3"}
	bring(t, l, gpt("c", "a2", turns[:4]...))
	f := onlyFlow(t, l)
	if _, err := l.Remove(t.Context(), ns, library.Removal{Operation: library.Operation{Flow: f.ID}, Node: f.Members[1].Node}); err != nil {
		t.Fatal(err)
	}
	bring(t, l, gpt("c", "a3", turns...))
	same(t, []string{"1* u:q1 a:r1", "1>3 u:q3 a:r3"}, shape(t, l))
	drop := func(thing store.Thing) {
		t.Helper()
		if err := s.Update(t.Context(), ns, func(tx store.Tx) error { return tx.Drop(thing) }); err != nil {
			t.Fatal(err)
		}
	}
	drop(store.Thing{Kind: store.KindNode, ID: f.Members[1].Node})
	same(t, transfer.Count{Skipped: 3}, bring(t, l, gpt("c", "a3", turns...)).Nodes)
	purge := library.Purge{ID: f.Members[1].Node, Reason: "asked for"}
	if _, err := l.PurgeNode(t.Context(), ns, purge); err != nil {
		t.Fatal(err)
	}
	same(t, transfer.Count{Skipped: 3}, bring(t, l, gpt("c", "a3", turns...)).Nodes)
	drop(store.Thing{Kind: store.KindFlow, ID: f.ID})
	r := bring(t, l, gpt("c", "a3", turns...))
	same(t, transfer.Count{Skipped: 1}, r.Flows)
	same(t, transfer.Count{Skipped: 3}, r.Nodes)
	if _, err := l.PurgeFlow(t.Context(), ns, library.Purge{ID: f.ID, Reason: "asked for"}); err != nil {
		t.Fatal(err)
	}
	r = bring(t, l, "["+gpt("c", "a3", turns...)+","+gpt("d", "a2", turns[:4]...)+"]")
	same(t, transfer.Count{Imported: 1, Skipped: 1}, r.Flows)
}

// What an export of a flow cannot give, since it was deleted or purged, it names.
func TestExportOfDeletedNodes(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	bring(t, l, gpt("c", "a2", "u1 - user q1", "a1 u1 assistant r1", "u2 a1 user q2", "a2 u2 assistant r2"))
	f := onlyFlow(t, l)
	for _, m := range f.Members {
		if err := s.Update(t.Context(), ns, func(tx store.Tx) error {
			return tx.Drop(store.Thing{Kind: store.KindNode, ID: m.Node})
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.PurgeNode(t.Context(), ns, library.Purge{ID: f.Members[0].Node, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	if problems, _, err := l.ValidateFlow(t.Context(), ns, f.ID, 9); err != nil || len(problems) != 2 {
		t.Errorf("%v, %v", problems, err)
	}
	var b bytes.Buffer
	if err := l.Export(t.Context(), ns, nil, &b); err != nil || strings.Count(b.String(), `{"problem":`) != 2 || !strings.HasSuffix(b.String(), `{"end":{"flows":1,"nodes":0,"problems":2}}`+"\n") {
		t.Errorf("%v: %s", err, b.String())
	}
	there, _ := newLibrary()
	if r := bring(t, there, b.String()); r.Failed != 2 || r.Flows.Imported != 1 {
		t.Errorf("%+v", r)
	}
}

// An export, imported elsewhere, is the same: k answers to one prompt are k nodes there too.
func TestExportAndImportAgain(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	bring(t, l, gpt("c", "a2", "u1 - user q1", "a1 u1 assistant r1", "a2 u1 assistant r2", "u2 a1 user q2", "u3 a1 user q3\r\n\u0000\ufffe", "a4 u3 assistant <&>\u2028"))
	f := onlyFlow(t, l)
	score := 0.25
	loose, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: node.Node{
		Texts: []node.Text{{Role: "tool", Content: "x", Count: 2, Duration: 1.5}}, Tags: []string{"町"}, Note: "n", Score: &score,
		Generation: &node.Generation{Backend: "b", Picks: []string{"p"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Branch(t.Context(), ns, library.Branching{Operation: library.Operation{Flow: f.ID}, Node: f.Members[0].Node, Name: "晴"}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.Export(t.Context(), ns, nil, &b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q", line)
		}
	}
	there, second := newLibrary()
	r := bring(t, there, b.String())
	same(t, transfer.Count{Imported: 5}, r.Nodes)
	same(t, shape(t, l), shape(t, there))
	for _, m := range onlyFlow(t, l).Members {
		want, err := s.Node(t.Context(), ns, m.Node)
		if err != nil {
			t.Fatal(err)
		}
		got, err := second.Node(t.Context(), ns, m.Node)
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, got)
	}
	got, err := there.Node(t.Context(), ns, loose.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, loose, got)
	same(t, onlyFlow(t, l), onlyFlow(t, there))
	var again bytes.Buffer
	if err := there.Export(t.Context(), ns, nil, &again); err != nil || again.String() != b.String() {
		t.Errorf("the second export differs: %v", err)
	}
	same(t, transfer.Count{Skipped: 5}, bring(t, there, b.String()).Nodes)
}

// What was purged here, or lies in the trash, does not come back with a file, nor is it a gap in a flow that the file brings.
func TestImportBringsNothingPurgedBack(t *testing.T) {
	t.Parallel()
	l, _ := newLibrary()
	f, nodes := chain(t, l, 5)
	var b strings.Builder
	if err := l.Export(t.Context(), ns, nil, &b); err != nil {
		t.Fatal(err)
	}
	there, s := newLibrary()
	updated(t, s, func(tx store.Tx) error {
		purged, dropped := store.Thing{Kind: store.KindNode, ID: nodes[1]}, store.Thing{Kind: store.KindNode, ID: nodes[2]}
		return errors.Join(tx.CreateNode(node.Node{ID: nodes[1]}), tx.CreateNode(node.Node{ID: nodes[2]}), tx.Purge(purged, "r"), tx.Drop(dropped))
	})
	for range 2 {
		if r := bring(t, there, b.String()); r.Failed > 0 || r.Nodes.Imported+r.Nodes.Skipped != 5 {
			t.Errorf("%+v", r)
		}
		if _, err := there.Node(t.Context(), ns, nodes[1]); !wasPurged(err) {
			t.Errorf("it came back: %v", err)
		}
		got, err := there.Flow(t.Context(), ns, f)
		if err != nil || edges(got) != "1-4 4-5" || len(got.Members) != 3 {
			t.Errorf("%v, the flow is %v, %s", err, got.Members, edges(got))
		}
	}
}

func TestExportOfFlowsThatAreNotThere(t *testing.T) {
	t.Parallel()
	l, _ := newLibrary()
	var b bytes.Buffer
	err := l.Export(t.Context(), ns, []uuid.UUID{{1}, {2}}, &b)
	var many *library.ManyError
	if !errors.As(err, &many) || len(many.Errs) != 2 || b.Len() > 0 {
		t.Errorf("%v, %q", err, b.String())
	}
}

// broken is a body that ends before its end.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("the connection is gone")

func TestImportOfWhatIsNone(t *testing.T) {
	t.Parallel()
	l, _ := newLibrary()
	for _, text := range []string{"", " \n", "hello", "PK\x03\x04", "\xef\xbb\xbf"} {
		_, err := l.Import(t.Context(), ns, strings.NewReader(text), library.Importing{})
		var format *transfer.FormatError
		if !errors.As(err, &format) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := l.Import(t.Context(), ns, broken{}, library.Importing{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

func newLibrary() (*library.Library, store.Store) {
	s := memory.New(clock)
	return library.New(s, &counting{}), s
}
