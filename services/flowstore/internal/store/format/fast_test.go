package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzCanonicalFlow: where the fast reader takes a file, the YAML parser reads the same.
func FuzzCanonicalFlow(f *testing.F) {
	const id, node = "id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\n", "    id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b\n"
	f.Add([]byte(id + "nodes:\n  - index: 1\n" + node + "connections:\n  - from: 1\n    to: 1\n"))
	f.Add([]byte(id + "nodes: []\nconnections: []\n"))
	f.Add([]byte(id + "name: \"a\nnodes: []\nconnections: []\n"))
	f.Add([]byte(id + "name: |\n  a\n\nnodes: []\nconnections: []\n"))
	f.Add([]byte(id + "nodes: [] \n\nnodes: []\nconnections: []\n"))
	f.Add([]byte("# c\n? x\n" + id + "nodes:\n  - index: 007\n" + node + "connections: []\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fast, ok := decodeCanonical(text)
		if !ok {
			return
		}
		slow, err := decodeEdited(text)
		if err != nil {
			t.Fatalf("the YAML parser refuses it: %v", err)
		}
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Error(diff)
		}
	})
}
