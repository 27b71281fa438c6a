package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

const (
	bombHead = `<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06Z">`
	bombFlow = "id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b\n"
)

// lol is the list of a billion laughs, of ten levels.
func lol(format, item, end string) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, format, i, strings.Repeat(fmt.Sprintf(item, max(i-1, 0)), 10))
	}
	return b.String() + end
}

// A file that is made to be large when it is read is refused with the reason, and reading it takes no more memory than a few
// times its length (twice as much under the race detector). Not parallel: it counts all bytes that the process allocates.
func TestBombs(t *testing.T) {
	entities := "<!DOCTYPE node [\n" + lol("<!ENTITY e%d \"%s\">\n", "&e%d;", "]>\n")
	node := func(data []byte) error { _, err := format.DecodeNode(data); return err }
	flow := func(data []byte) error { _, err := format.DecodeFlow(data); return err }
	for name, c := range map[string]struct {
		read  func([]byte) error
		data  string
		want  string
		bytes int // that reading may take
	}{
		"elements 10,000 deep":   {node, bombHead + strings.Repeat("<a>", 10_000), "elements are nested more than 16 deep", 64 << 10},
		"a text of 100 MB":       {node, bombHead + "<contents><text>" + strings.Repeat("x", 100_000_000), "is 100000097 bytes long; the limit is 67108864", 64 << 10},
		"entities":               {node, entities + bombHead + "<contents><text>&e9;</text></contents></node>", "line 13: invalid character entity &e9;", 128 << 10},
		"entities in attributes": {node, entities + `<node id="&e9;"/>`, "line 13: invalid character entity &e9;", 128 << 10},
		"a million attributes":   {node, bombHead + "<a" + strings.Repeat(" a='>'", 1_000_000) + "/></node>", "<a> has more than 64 attributes", 64 << 10},
		"a comment of 8 MB":      {node, "<!--" + strings.Repeat("<", 8<<20) + "-->" + bombHead, "line 1: the file ends in the middle of an element", 10 * (8 << 20)},
		"a billion laughs":       {flow, lol("a%d: &a%[1]d [%s]\n", "*a%d, ", bombFlow), "line 1: is an alias (*a0); write the value out", 1 << 20},
		"merged keys":            {flow, "a: &a {b: c}\n" + bombFlow + "<<: *a\n", "line 3: is an alias (*a); write the value out", 64 << 10},
		"lists 10,000 deep":      {flow, bombFlow + "a: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "line 2: is nested more than 64 deep", 8 << 20},
		"lists 100,000 deep":     {flow, bombFlow + "a: " + strings.Repeat("[", 100_000), "is nested more than 64 deep", 8 << 20},
		"lines 100,000 deep":     {flow, bombFlow + "a:\n" + strings.Repeat("- ", 100_000), "is nested more than 64 deep", 8 << 20},
		"a flow of 100 MB":       {flow, bombFlow + "name: " + strings.Repeat("x", 100_000_000), "is 100000047 bytes long; the limit is 67108864", 64 << 10},
		"a name of 20 MB":        {flow, bombFlow + "name: " + strings.Repeat("x", 20<<20), "is 20971567 bytes long; the limit is 16777216", 64 << 10},
	} {
		data := []byte(c.data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.read(data)
		runtime.ReadMemStats(&after)
		var own *format.Error
		if !errors.As(err, &own) || own.Reason != c.want {
			t.Errorf("%s:\ngot  %.300v\nwant %s", name, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(c.bytes) {
			t.Errorf("%s: %d bytes were allocated to read %d; at most %d", name, used, len(data), c.bytes)
		}
	}
}

// A long text is read, by either reader, with a few times its length (twice as much under the race detector).
func TestLongTextsAreCheap(t *testing.T) {
	n := person()
	n.Texts[0].Content = strings.Repeat("紡ぎ\n", 600_000)
	canonical := format.EncodeNode(n)
	_, behind, _ := bytes.Cut(canonical, []byte("?>"))
	edited := append([]byte("<!-- x -->"), behind...)
	for name, c := range map[string]struct {
		data  []byte
		times int
	}{"canonical": {canonical, 4}, "edited": {edited, 16}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := format.DecodeNode(c.data)
		runtime.ReadMemStats(&after)
		if err != nil || got.Texts[0].Content != n.Texts[0].Content {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(c.times*len(c.data)) {
			t.Errorf("%s: %d bytes were allocated to read %d", name, used, len(c.data))
		}
	}
}
