package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// handsDo scans after what hands did, and gives the events that it told.
func (d *desk) handsDo(what ...func()) (told []string) {
	d.Helper()
	last, err := d.store.LastEvent(context.Background(), ns)
	d.must(err)
	for _, do := range what {
		do()
	}
	d.must(d.store.Rescan(context.Background(), ns))
	return d.toldSince(last)
}

// toldSince gives the events after one; a node is made to have a last one.
func (d *desk) toldSince(last int64) (told []string) {
	d.Helper()
	now, err := d.store.LastEvent(context.Background(), ns)
	d.must(err)
	if now == last {
		return nil
	}
	events, err := d.store.Events(context.Background(), ns, last, 1000)
	d.must(err)
	for _, e := range events {
		if e.Origin == store.External {
			told = append(told, string(e.Kind)+" "+d.called(e))
		} else {
			told = append(told, "ours: "+string(e.Kind)+" "+d.called(e))
		}
	}
	return told
}

// called names what an event is of.
func (d *desk) called(e store.Event) string {
	for _, name := range []string{"one", "two", "theirs", "novel", "essay"} {
		if e.Of.ID == idOf(name) {
			return name
		}
	}
	return e.Path
}

func (d *desk) rename(from, to string) {
	d.Helper()
	d.must(os.MkdirAll(filepath.Dir(d.path(to)), 0o700))
	d.must(os.Rename(d.path(from), d.path(to)))
}

func (d *desk) remove(name string) {
	d.Helper()
	d.must(os.RemoveAll(d.path(name)))
}

func (d *desk) copy(from, to string) { d.put(to, d.read(from)) }

// handCase is what hands do to a tree with the nodes one and two and the flow novel, and what is known then.
type handCase struct {
	do []func(d *desk)
	// told are the events, those of each scan behind a semicolon.
	told     string
	problems string
	nodes    string
	// closed are the events where all is done while the store is closed; told, where it is left out and one thing is done.
	closed string
}

func handCases() map[string]handCase {
	theirs := string(format.EncodeNode(nodeOf("theirs", "彼らの文")))
	type edits = []func(d *desk)
	return map[string]handCase{
		"nothing":        {nil, "", "", "one two", ""},
		"a text":         {edits{func(d *desk) { d.edit("nodes/000/000.xml", "春の夜", "夏の夜") }}, "node_updated one", "", "one two", ""},
		"only the time":  {edits{func(d *desk) { d.put("nodes/000/000.xml", d.read("nodes/000/000.xml")) }}, "", "", "one two", ""},
		"a flow":         {edits{func(d *desk) { d.edit("flows/000/000.yaml", "name: \"novel\"", "name: 長編") }}, "flow_updated novel", "", "one two", ""},
		"a new file":     {edits{func(d *desk) { d.put("nodes/004/004.xml", theirs) }}, "node_created theirs", "", "one two theirs", ""},
		"another name":   {edits{func(d *desk) { d.rename("nodes/000/000.xml", "nodes/007/007.xml") }}, "", "", "one two", ""},
		"a file goes":    {edits{func(d *desk) { d.remove("nodes/000/001.xml") }}, "node_deleted two", "", "one", ""},
		"a folder goes":  {edits{func(d *desk) { d.remove("nodes/000") }}, "node_deleted one, node_deleted two", "", "", ""},
		"a flow goes":    {edits{func(d *desk) { d.remove("flows/000/000.yaml") }}, "flow_deleted novel", "", "one two", ""},
		"a file breaks":  {edits{func(d *desk) { d.put("nodes/000/001.xml", "<node") }}, "external_change nodes/000/001.xml", "nodes/000/001.xml", "one", ""},
		"a torn page":    {edits{func(d *desk) { d.put("nodes/000/001.xml", strings.Repeat("\x00", 2000)) }}, "external_change nodes/000/001.xml", "nodes/000/001.xml", "one", ""},
		"a broken file":  {edits{func(d *desk) { d.put("nodes/000/008.xml", "<node") }}, "external_change nodes/000/008.xml", "nodes/000/008.xml", "one two", ""},
		"other files":    {edits{func(d *desk) { d.put("nodes/000/000.xml.bak", theirs) }}, "", "", "one two", ""},
		"another node":   {edits{func(d *desk) { d.put("nodes/000/001.xml", theirs) }}, "node_deleted two, node_created theirs", "", "one theirs", ""},
		"to the trash":   {edits{func(d *desk) { d.rename("nodes/000/001.xml", "trash/nodes/000/001.xml") }}, "node_deleted two", "", "one", ""},
		"a double":       {edits{func(d *desk) { d.copy("nodes/000/001.xml", "trash/nodes/000/001.xml") }}, "external_change trash/nodes/000/001.xml", "trash/nodes/000/001.xml", "one two", ""},
		"an older copy":  {edits{func(d *desk) { d.put("nodes/000/009.xml", older(d.read("nodes/000/000.xml"))) }}, "external_change nodes/000/009.xml", "nodes/000/009.xml", "one two", ""},
		"broken, healed": {edits{func(d *desk) { d.put("nodes/000/001.xml", "<node") }, func(d *desk) { d.put("nodes/000/001.xml", string(d.body("two"))) }}, "external_change nodes/000/001.xml; node_updated two", "", "one two", ""},
		"a copy":         {edits{func(d *desk) { d.copy("nodes/000/000.xml", "nodes/000/009.xml") }}, "external_change nodes/000/000.xml", "nodes/000/000.xml", "one two", ""},
		"a newer copy": {edits{func(d *desk) {
			d.put("nodes/000/009.xml", strings.NewReplacer(`timestamp="2026`, `timestamp="2027`, "春の夜", "夏の夜").Replace(d.read("nodes/000/000.xml")))
		}}, "node_updated one, external_change nodes/000/000.xml", "nodes/000/000.xml", "one two", ""},
		"a double, gone": {edits{
			func(d *desk) { d.copy("nodes/000/001.xml", "trash/nodes/000/001.xml") }, func(d *desk) { d.remove("trash/nodes/000/001.xml") },
		}, "external_change trash/nodes/000/001.xml; external_change trash/nodes/000/001.xml", "", "one two", ""},
		"there and back": {edits{
			func(d *desk) { d.rename("nodes/000/001.xml", "trash/nodes/000/001.xml") }, func(d *desk) { d.rename("trash/nodes/000/001.xml", "nodes/000/001.xml") },
		}, "node_deleted two; node_created two", "", "one two", ""},
		"a double alone": {edits{
			func(d *desk) { d.copy("nodes/000/001.xml", "trash/nodes/000/001.xml") }, func(d *desk) { d.remove("nodes/000/001.xml") },
		}, "external_change trash/nodes/000/001.xml; node_deleted two", "", "one", "node_deleted two"},
	}
}

// What hands do while the store runs is known after a scan, and told once; a scan later, or a start, there is nothing to tell.
func TestWhatHandsDo(t *testing.T) {
	t.Parallel()
	for name, c := range handCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
			d.flushed()
			var told []string
			for _, do := range c.do {
				told = append(told, strings.Join(d.handsDo(func() { do(d) }), ", "))
			}
			if got := strings.Join(told, "; "); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
			d.knows(c.nodes, c.problems)
			if again := d.handsDo(); len(again) > 0 {
				t.Errorf("told once more: %q", again)
			}
			d.flushed()
			d.soundIndex()
			d.crash(func() {})
			d.knows(c.nodes, c.problems)
			if again := d.handsDo(); len(again) > 0 {
				t.Errorf("told after a start: %q", again)
			}
		})
	}
}

// body is the file of a node as it was acknowledged.
func (d *desk) body(name string) []byte { return format.EncodeNode(d.nodes[idOf(name)]) }

// older dates a node back.
func older(file string) string { return strings.Replace(file, `timestamp="2026`, `timestamp="2025`, 1) }

// knows compares what can be read, and what needs a person.
func (d *desk) knows(nodes, problems string) {
	d.Helper()
	var readable []string
	for _, name := range []string{"one", "two", "theirs"} {
		if _, err := d.store.Node(context.Background(), ns, idOf(name)); err == nil {
			readable = append(readable, name)
		}
	}
	if got := strings.Join(readable, " "); got != nodes {
		d.Errorf("the nodes %q can be read, want %q", got, nodes)
	}
	listed, err := d.store.Nodes(context.Background(), ns, store.NewestFirst, store.Entry{}, 10)
	if d.must(err); len(listed) < len(readable) {
		d.Errorf("listed are %v", listed)
	}
	if got := strings.Join(d.problemPaths(), " "); got != problems {
		d.Errorf("problems of %q, want %q", got, problems)
	}
}

// soundIndex compares the indexes with the files that can be read.
func (d *desk) soundIndex() {
	d.Helper()
	for kind, x := range map[format.Kind]*index{format.Nodes: d.store.spaces[ns].space.nodes, format.Flows: d.store.spaces[ns].space.flows} {
		if !d.exists(string(kind) + "/index.tsv") {
			continue
		}
		rows, sound := kind.ReadIndex([]byte(d.read(string(kind) + "/index.tsv")))
		var got, want []string
		last := map[string]string{}
		for _, r := range rows {
			last[r.Path] = fmt.Sprintf("%s %s %v", r.Path, r.ID, r.Time.UTC())
		}
		got = slices.AppendSeq(got, maps.Values(last))
		for _, r := range x.rows(func(uuid.UUID, string) bool { return false }) {
			want = append(want, fmt.Sprintf("%s %s %v", r.Path, r.ID, r.Time.UTC()))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !sound || !slices.Equal(got, want) {
			d.Errorf("the index of %s has\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
