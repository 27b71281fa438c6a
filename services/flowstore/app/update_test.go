package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// tree is a running service with one node, stored in nodes/000/000.xml.
type tree struct {
	*testing.T
	c    flowstorev1.FlowStoreServiceClient
	data string
	node *flowstorev1.Node
	stop func()
}

func plant(t *testing.T, text string) *tree {
	t.Helper()
	d := &tree{T: t, data: t.TempDir()}
	d.open()
	n, err := d.c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: text}}}})
	if err != nil {
		t.Fatal(err)
	}
	d.node = n
	d.flush()
	return d
}

func (d *tree) open() {
	d.Helper()
	a := start(d.T, d.data)
	d.c, d.stop = client(d.T, a), func() { stop(d.T, a) }
}

func (d *tree) flush() {
	d.Helper()
	if _, err := d.c.FlushStore(d.Context(), &flowstorev1.FlushStoreRequest{}); err != nil {
		d.Fatal(err)
	}
}

func (d *tree) file(name string) string {
	return filepath.Join(d.data, "default", "nodes", "000", name)
}

func (d *tree) read(name string) string {
	d.Helper()
	text, err := os.ReadFile(d.file(name))
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

func (d *tree) write(name, text string) {
	d.Helper()
	if err := os.WriteFile(d.file(name), []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

func (d *tree) get() *flowstorev1.Node {
	d.Helper()
	n, err := d.c.GetNode(d.Context(), &flowstorev1.GetNodeRequest{Name: d.node.GetName()})
	if err != nil {
		d.Fatal(err)
	}
	return n
}

func (d *tree) update(etag, text string) (*flowstorev1.Node, error) {
	return d.c.UpdateNode(d.Context(), &flowstorev1.UpdateNodeRequest{
		Node:       &flowstorev1.Node{Name: d.node.GetName(), Etag: etag, Texts: []*flowstorev1.Text{{Role: "user", Content: text}}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"texts"}},
	})
}

// cases/flowstore.md 16, for the call: a hand edits the file that a client has read. The client's update is refused, at once and
// later, with the etag of what the hand wrote, and that stays.
func TestFlowstore16AnEditOnDiskUnderAnOpenEditor(t *testing.T) {
	t.Parallel()
	d := plant(t, "旧い町")
	defer func() { d.stop() }()
	edited := strings.ReplaceAll(d.read("000.xml"), "旧", "新")
	d.write("000.xml", edited)
	for range 2 {
		_, err := d.update(d.node.GetEtag(), "客の町")
		e, ok := apierr.FromStatus(err)
		if !ok || e.Code != codes.Aborted {
			t.Fatalf("the update: %v", err)
		}
		if want := d.get().GetEtag(); e.Metadata["current_etag"] != want || e.Metadata["etag"] != d.node.GetEtag() || want == d.node.GetEtag() {
			t.Errorf("%v, the etag is %q", e.Metadata, want)
		}
		d.flush()
		if d.read("000.xml") != edited || d.get().GetTexts()[0].GetContent() != "新い町" {
			t.Error("the hand's text is gone")
		}
	}
	if n, err := d.update(d.get().GetEtag(), "客の町"); err != nil || n.GetTexts()[0].GetContent() != "客の町" {
		t.Errorf("with the new etag: %v, %v", n, err)
	}
}

// cases/flowstore.md 17, for the call: an update writes the file that counts, and no other one with the same id.
func TestFlowstore17AnUpdateWritesTheFileThatCounts(t *testing.T) {
	t.Parallel()
	d := plant(t, "春")
	d.stop()
	first := d.read("000.xml")
	year := first[strings.Index(first, `timestamp="`)+len(`timestamp="`):][:4]
	other := strings.ReplaceAll(first, "春", "夏")
	d.write("007.xml", other)
	d.write("003.xml", strings.ReplaceAll(strings.ReplaceAll(first, `timestamp="`+year, `timestamp="2099`), "春", "秋"))
	d.open()
	defer func() { d.stop() }()
	n := d.get()
	if n.GetTexts()[0].GetContent() != "秋" {
		t.Errorf("the node is %v", n)
	}
	if _, err := d.update(n.GetEtag(), "冬"); err != nil {
		t.Fatal(err)
	}
	d.flush()
	if d.read("000.xml") != first || d.read("007.xml") != other || !strings.Contains(d.read("003.xml"), "冬") {
		t.Error("the update went elsewhere")
	}
	list, err := d.c.ListNodeRevisions(t.Context(), &flowstorev1.ListNodeRevisionsRequest{Name: d.node.GetName(), PageSize: 2})
	if err != nil || len(list.GetRevisions()) != 2 || list.GetRevisions()[1].GetRevision() != "nodes/000/007.xml" || list.GetRevisions()[1].GetReplaceTime() != nil {
		t.Fatalf("revisions are %v, %v", list, err)
	}
	list, err = d.c.ListNodeRevisions(t.Context(), &flowstorev1.ListNodeRevisionsRequest{Name: d.node.GetName(), PageToken: list.GetNextPageToken()})
	if err != nil || len(list.GetRevisions()) != 2 || list.GetRevisions()[0].GetRevision() != "nodes/000/000.xml" || list.GetRevisions()[1].GetReplaceTime() == nil {
		t.Fatalf("the next page is %v, %v", list, err)
	}
	// What another file has can be taken over; that file stays.
	n, err = d.c.RestoreNodeRevision(t.Context(), &flowstorev1.RestoreNodeRevisionRequest{Name: d.node.GetName(), Revision: "nodes/000/007.xml"})
	if err != nil || n.GetTexts()[0].GetContent() != "夏" {
		t.Errorf("restored %v, %v", n, err)
	}
	d.flush()
	if d.read("007.xml") != other || !strings.Contains(d.read("003.xml"), "夏") {
		t.Error("the restored text went elsewhere")
	}
}

// cases/flowstore.md 25, for the etag: a checkout that changes line ends makes no other version, and writes nothing.
func TestFlowstore25LineEndsKeepTheEtag(t *testing.T) {
	t.Parallel()
	d := plant(t, "a\r\nb\rc\n")
	d.stop()
	converted := strings.ReplaceAll(d.read("000.xml"), "\n", "\r\n")
	d.write("000.xml", converted)
	d.open()
	defer func() { d.stop() }()
	if n := d.get(); n.GetEtag() != d.node.GetEtag() || n.GetTexts()[0].GetContent() != "a\r\nb\rc\n" {
		t.Errorf("read %v, stored %v", n, d.node)
	}
	if n, err := d.update(d.node.GetEtag(), "a\r\nb\rc\n"); err != nil || n.GetEtag() != d.node.GetEtag() {
		t.Errorf("updated to %v, %v", n, err)
	}
	d.flush()
	if d.read("000.xml") != converted {
		t.Error("an update of nothing wrote the file")
	}
}
