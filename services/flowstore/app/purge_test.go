package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// What a person removed with its file is still in local.db, and is purged by its id: over the wire, with the answer of every purge.
func TestWhatAHandRemovedIsPurged(t *testing.T) {
	t.Parallel()
	d := plant(t, "the secret")
	before := d.get()
	if _, err := d.update(before.GetEtag(), "another"); err != nil {
		t.Fatal(err)
	}
	d.flush()
	d.stop()
	if err := os.Remove(d.file("000.xml")); err != nil {
		t.Fatal(err)
	}
	d.open()
	defer d.stop()
	if !d.holds("the secret") {
		t.Fatal("the text is in no file: this test proves nothing")
	}
	purge := func(name string) (*flowstorev1.Tombstone, error) {
		return d.c.PurgeNode(t.Context(), &flowstorev1.PurgeNodeRequest{Name: name, Reason: "asked for"})
	}
	for range 2 {
		stone, err := purge(before.GetName())
		if err != nil || stone.GetName() != before.GetName() || stone.GetReason() != "asked for" || len(stone.GetRemains()) > 0 {
			t.Fatalf("%v %v", stone, err)
		}
	}
	if d.holds("the secret") {
		t.Error("the text is left")
	}
	if _, err := purge("nodes/0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"); status.Code(err) != codes.NotFound {
		t.Errorf("an id that nobody had: %v", err)
	}
}

// holds says whether a file below the data folder holds a text.
func (d *tree) holds(text string) (found bool) {
	d.Helper()
	err := filepath.WalkDir(d.data, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
	return found
}
