package format

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
		fast, fastErr := raw.node(nil)
		parsed := &xmlNode{}
		if err := parseXML(text, parsed); err != nil {
			t.Fatalf("encoding/xml refuses it: %v", err)
		}
		slow, slowErr := parsed.node(nil)
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
		fast, ok := Reader{}.decodeCanonical(text)
		if !ok {
			return
		}
		slow, err := Reader{}.decodeEdited(text)
		if err != nil {
			t.Fatalf("the YAML parser refuses it: %v", err)
		}
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzCanonicalNodeIndex and FuzzCanonicalTags: where lines are enough, the YAML parser reads the same.
func FuzzCanonicalNodeIndex(f *testing.F) {
	const id, other = "  0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b:\n", "  0197A1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b:\n"
	const at = "2025-05-09T06:48:06.533720+09:00\n"
	f.Add("updated: " + at + "nodes:\n" + id + "    timestamp: " + at + "    keywords: \"a, b，c\"\n    summary: \"\\\"x\\n\\u0001\"\n" + other)
	f.Add("nodes: {}\n")
	f.Add("nodes:\n" + other + id + other + "    summary: \"x\"\n")
	f.Add("nodes:\n" + id + "    timestamp: 2025-02-30T06:48:06.533720+09:00\n")
	f.Add("nodes:\n" + id + "    timestamp: 0000-01-01T00:00:00.000000-00:00\n")
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := nodeLines(text)
		if !ok {
			return
		}
		slow, err := editedNodeIndex([]byte(text))
		if err != nil {
			t.Fatalf("the YAML parser refuses it: %v", err)
		}
		if diff := cmp.Diff(slow, fast, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzCanonicalTags(f *testing.F) {
	const id, other = "    - 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\n", "    - 0197A1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b\n"
	f.Add("updated: 2025-05-09T06:48:06.533720+09:00\ntags:\n  \"yes\":\n" + id + other)
	f.Add("tags: {}\n")
	f.Add("tags:\n  ? \"x\"\n  :\n" + id + "  \"x\":\n" + other)
	f.Add("tags:\n  \"b\":\n" + id + id + "  \"a\":\n" + other + "  \"b\":\n" + id)
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := tagLines(text)
		if !ok {
			return
		}
		slow, err := editedTags([]byte(text))
		if err != nil {
			t.Fatalf("the YAML parser refuses it: %v", err)
		}
		if diff := cmp.Diff(slow, fast, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzCanonicalTime: a time that is read the fast way is the same time the other way.
func FuzzCanonicalTime(f *testing.F) {
	for _, text := range []string{
		"2025-05-09T06:48:06.533720+09:00", "2024-02-29T23:59:59.999999-03:30", "2025-02-29T00:00:00.000000+00:00", "0000-01-01T00:00:00.000000-00:00",
		"2025-12-31T24:00:00.000000+23:59", "2025-12-31T00:00:60.000000+24:00", "9999-12-31T00:60:00.000000+00:60", "2025-00-00T00:00:00.000000+00:00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := canonicalTime(text)
		slow, err := parseTime(text)
		if ok && (err != nil || !fast.Equal(slow) || formatTime(fast) != formatTime(slow)) {
			t.Errorf("%v instead of %v, %v", fast, slow, err)
		}
	})
}

// A time is written as time.Time writes it.
func TestAppendTime(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		{}, time.Date(2025, 5, 9, 6, 48, 6, 533_720_999, time.FixedZone("", 9*3600)), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(0, 2, 29, 1, 2, 3, 10, time.UTC),
		time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("", -(3*3600+30*60))), time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("", -(4*3600+56*60+2))),
		time.Date(1887, 1, 1, 0, 0, 0, 0, time.FixedZone("", 9*3600+18*60+59)), time.Date(2024, 1, 1, 0, 0, 0, 0, time.FixedZone("", -59)),
	} {
		if got, want := formatTime(at), at.Format(timeLayout); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
