package files

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// An index that is damaged or gone is made anew (cases/flowstore.md 19 and 31; field/flowstore.md row 17).
func TestAnIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(d *desk, file string){
		"deleted":          func(d *desk, file string) { d.must(os.Remove(d.path(file))) },
		"torn":             func(d *desk, file string) { d.put(file, d.read(file)+"000/009.xml\t0190") },
		"marked by git":    func(d *desk, file string) { d.put(file, "<<<<<<< ours\n"+d.read(file)+">>>>>>> theirs\n") },
		"zeros":            func(d *desk, file string) { d.put(file, strings.Repeat("\x00", len(d.read(file)))) },
		"of wrong columns": func(d *desk, file string) { d.put(file, strings.ReplaceAll(d.read(file), "\t", ":")) },
		"of other times":   func(d *desk, file string) { d.put(file, strings.ReplaceAll(d.read(file), "2026", "2025")) },
		"with a dead row": func(d *desk, file string) {
			d.put(file, d.read(file)+"000/050.xml\t"+idOf("dead").String()+"\t2026-04-01T09:30:00.000000+09:00\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a"), d.createFlow("essay")))
			d.flushed()
			want := map[string]string{}
			for _, file := range []string{"nodes/index.tsv", "flows/index.tsv"} {
				want[file] = d.read(file)
				damage(d, file)
			}
			d.restart()
			d.must(d.finds(d.store))
			d.flushed()
			for file, text := range want {
				if got := d.read(file); got != text {
					t.Errorf("%s is\n%s\nwant\n%s", file, got, text)
				}
			}
		})
	}
}

// cases/flowstore.md 25: a checkout with other line ends changes nothing, and is not answered by writing files.
func TestOtherLineEndsAreLeftAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createNode("one"), d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	for _, file := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv", "flows/index.tsv"} {
		d.edit(file, "\n", "\r\n")
	}
	for range 3 {
		d.restart()
		d.must(d.finds(d.store))
		d.flushed()
	}
	for _, file := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv", "flows/index.tsv"} {
		if !strings.Contains(d.read(file), "\r\n") {
			t.Errorf("%s was written", file)
		}
	}
}

func TestAnIndexOfManyChangesIsPutInOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(d.createFlow("novel"))
	for range 130 {
		d.must(d.addNode("novel", time.Duration(len(d.nodes)).String()))
		d.flushed()
	}
	if n := strings.Count(d.read("flows/index.tsv"), "\n"); n < 2 || n > 110 {
		t.Errorf("the index of one flow has %d lines", n)
	}
	d.restart()
	if n := strings.Count(d.read("flows/index.tsv"), "\n"); n != 2 {
		t.Errorf("after closing it has %d lines", n)
	}
	d.must(d.findsInTree(filesysOf(d)))
}
