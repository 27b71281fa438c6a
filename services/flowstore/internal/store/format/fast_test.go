package format

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzCanonicalNode: where the fast reader takes a file, encoding/xml reads the same, down to the error.
func FuzzCanonicalNode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(files) < 5 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	const head = xmlHead + "<node id=\"0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\" timestamp=\"2025-05-09T06:48:06Z\">\n<contents>\n"
	f.Add([]byte(head + "<text count=\"six\" esc=\"x\"><![CDATA[a]]>&#13;<![CDATA[]]]]></text>\n</contents>\n<metadata>\n<summary/>\n</metadata>\n</node>\n"))
	f.Add([]byte(head + "</contents>\n<metadata>\n<model>&#13;&amp;]]&gt;\\</model>\n<generation>\n<backend/>\n<picks/>\n</generation>\n<summary/>\n</metadata>\n</node>\n"))
	f.Add([]byte(head + "</contents>\n<metadata>\n<model a=\"&gt;>\">x<!-- --></model>\n<summary updated='true'/>\n</metadata>\n</node>\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, ok := scanNode(text, false)
		if !ok {
			return
		}
		fast, fastErr := raw.node()
		parsed := &xmlNode{}
		if err := parseXML(text, parsed); err != nil {
			t.Fatalf("encoding/xml refuses it: %v", err)
		}
		slow, slowErr := parsed.node()
		if diff := cmp.Diff(slow, fast); diff != "" || (slowErr == nil) != (fastErr == nil) {
			t.Errorf("%v, %v: %s", slowErr, fastErr, diff)
		}
		if slowErr != nil && slowErr.Error() != fastErr.Error() {
			t.Errorf("%v instead of %v", fastErr, slowErr)
		}
	})
}

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
