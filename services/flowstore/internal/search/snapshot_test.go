package search_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

func encoded(t testing.TB, x *search.Index) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := x.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// reread writes a snapshot and reads it; what was read writes the same bytes.
func reread(t *testing.T, x *search.Index) *search.Index {
	t.Helper()
	data := encoded(t, x)
	y, err := search.Decode(data)
	if err != nil || y.Len() != x.Len() || y.Dead() != 0 {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, y), data) || !bytes.Equal(encoded(t, x), data) {
		t.Fatal("the same index gives other bytes")
	}
	return y
}

// small has a list of each kind: short, long, and words that are too long for the list; and the first and the last of all characters.
func small(t testing.TB) *search.Index {
	t.Helper()
	x := search.New()
	for i := range 80 {
		content := "夜の駅 quick"
		if i == 3 {
			content += " 港 fix \x00 \U0010ffff " + strings.Repeat("a", 100)
		}
		n := node.Node{ID: uuid.UUID{15: byte(i)}, Model: "gemma", Tags: []string{"夜"}, Texts: []node.Text{{Role: "user", Content: content}}}
		if err := x.Put(n, uint64(i)<<56|7); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func TestASnapshotKeepsStamps(t *testing.T) {
	t.Parallel()
	x := reread(t, small(t))
	if stamp, ok := x.Stamp(uuid.UUID{15: 9}); stamp != 9<<56|7 || !ok {
		t.Error(stamp, ok)
	}
	if _, ok := x.Stamp(uuid.UUID{1}); ok {
		t.Error("a node that is not there has a stamp")
	}
}

func TestASnapshotKeepsNothingOfRemovedNodes(t *testing.T) {
	t.Parallel()
	x := search.New()
	for i, content := range []string{"keepsake 駅", "forgotten 港 " + strings.Repeat("secret", 20)} {
		n := node.Node{ID: uuid.UUID{byte(i)}, Model: content[:9], Tags: []string{content[:9]}, Texts: []node.Text{{Content: content}}}
		if err := x.Put(n, 0); err != nil {
			t.Fatal(err)
		}
	}
	if data := encoded(t, x); !bytes.Contains(data, []byte("forgotten")) {
		t.Fatal("the word is not in the snapshot as it stands, so that this test says nothing")
	}
	x.Remove(uuid.UUID{1})
	data := encoded(t, x)
	if bytes.Contains(data, []byte("forgotten")) || bytes.Contains(data, []byte("港")) || !bytes.Contains(data, []byte("keepsake")) {
		t.Errorf("the snapshot holds %q", data)
	}
	if y := reread(t, x); y.Len() != 1 || y.Has(uuid.UUID{1}) || len(y.IDs()) != 1 || !y.Has(uuid.UUID{0}) {
		t.Error("the removed node came back")
	}
	if data := encoded(t, x); len(data) > 300 {
		t.Errorf("%d bytes for one node", len(data))
	}
}

// Every byte that is changed, and every place where the file may end, is noticed.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	data := encoded(t, small(t))
	for i := range data {
		broken := bytes.Clone(data)
		broken[i] ^= 0x20
		refused(t, broken)
		refused(t, data[:i])
	}
	refused(t, append(bytes.Clone(data), 0))
	next := bytes.Clone(data)
	next[len("tsumugi search\n")]++
	if reason := refused(t, sealed(next[:len(next)-sha256.Size])); !strings.Contains(reason, "version 6") {
		t.Error(reason)
	}
}

func refused(t *testing.T, data []byte) (reason string) {
	t.Helper()
	x, err := search.Decode(data)
	damaged := (*search.DamagedError)(nil)
	if !errors.As(err, &damaged) || x != nil || damaged.Reason == "" {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	return damaged.Reason
}

func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

// A checksum that is right says nothing of who wrote the rest.
func TestSnapshotsOfOthers(t *testing.T) {
	t.Parallel()
	data := encoded(t, small(t))
	body := data[:len(data)-sha256.Size]
	for i := len("tsumugi search\n") + 1; i < len(body); i++ {
		refused(t, sealed(body[:i]))
	}
	refused(t, sealed(append(bytes.Clone(body), 0)))
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestEncodeTellsThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	x := small(t)
	size := len(encoded(t, x))
	for room := range size {
		if err := x.Encode(&full{room}); err == nil {
			t.Fatalf("%d bytes fit into %d", size, room)
		}
	}
}

// What Decode takes can be searched, listed, changed and written, whoever made it.
func FuzzDecode(f *testing.F) {
	begin := len("tsumugi search\n") + 1
	data := encoded(f, small(f))
	head := data[:begin:begin]
	f.Add(data[begin : len(data)-sha256.Size])
	data = encoded(f, search.New())
	f.Add(data[begin : len(data)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := search.Decode(sealed(append(head, body...)))
		if err != nil {
			if !errors.As(err, new(*search.DamagedError)) {
				t.Fatal(err)
			}
			return
		}
		q, err := search.Parse(`夜 qu -fix "a " tag:夜 model:ge role:user`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Search(t.Context(), &corpus{}, q, search.Page{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.Tags("", "", 10); err != nil {
			t.Fatal(err)
		}
		for _, id := range x.IDs() {
			if err := x.Put(node.Node{ID: id, Texts: []node.Text{{Content: "夜 quick"}}}, 0); err != nil {
				t.Fatal(err)
			}
		}
		x.Compact()
		reread(t, x)
	})
}
