package format_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

const thousand = 1000

// read is what another program reads of a node or flow.
type read map[string]any

// Python's ElementTree reads 1,000 random nodes as we wrote them, with no more knowledge of the format than docs/flowstore-files.md
// gives: the padding lines, and esc="u".
func TestPythonReadsAThousandNodes(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	var files []string
	var want []read
	dir := t.TempDir()
	for i := range thousand {
		n := nodes().Example(i)
		files = append(files, writeFile(t, dir, strconv.Itoa(i)+".xml", format.EncodeNode(n)))
		want = append(want, nodeAsRead(n))
	}
	var got []read
	python(t, etree, `
import sys, json, re, xml.etree.ElementTree as e
def u(x, s):
    if x.get("esc") == "u":
        s = re.sub(r"\\(?:\\|u\{([0-9A-F]+)\})", lambda m: chr(int(m[1], 16)) if m[1] else "\\", s)
    return s
def inline(x): return "" if x is None else u(x, x.text or "")
def section(x):
    if x is None or x.text is None: return ""
    assert x.text[0] == "\n" and x.text[-1] == "\n", x.text
    return u(x, x.text[1:-1])
def all(r, path): return [inline(x) for x in r.findall(path)]
def read(f):
    r = e.parse(f).getroot()
    m = r.find("metadata")
    return {"id": r.get("id"), "model": inline(m.find("model")), "tags": all(m, "tags/tag"),
        "texts": [[u(x, x.get("role", "")), section(x), float(x.get("count", 0)), float(x.get("duration", 0)), float(x.get("rate", 0))] for x in r.findall("contents/text")],
        "summary": section(m.find("summary")), "note": section(m.find("note")), "score": float(inline(m.find("score")) or 0),
        "error": inline(m.find("generation/error")), "picks": all(m, "generation/picks/pick"),
        "stop": all(m, "generation/sampling/stop"), "grammar": section(m.find("generation/sampling/grammar"))}
print(json.dumps([read(f) for f in sys.argv[1:]]))`, files, &got)
	same(t, want, got)
}

func nodeAsRead(n node.Node) read {
	texts := []any{}
	for _, t := range n.Texts {
		texts = append(texts, []any{t.Role, t.Content, float64(t.Count), t.Duration, t.Rate})
	}
	r := read{
		"id": n.ID.String(), "model": n.Model, "tags": list(n.Tags), "texts": texts, "summary": n.Summary.Text, "note": n.Note, "score": 0.0,
		"error": "", "picks": list(nil), "stop": list(nil), "grammar": "",
	}
	if n.Score != nil {
		r["score"] = *n.Score
	}
	if g := n.Generation; g != nil {
		r["error"], r["picks"] = g.Error, list(g.Picks)
		if g.Sampling != nil {
			r["stop"], r["grammar"] = list(g.Sampling.Stop), g.Sampling.Grammar
		}
	}
	return r
}

// PyYAML reads 1,000 random flows as we wrote them.
func TestPythonReadsAThousandFlows(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	var files []string
	var want []read
	dir := t.TempDir()
	for i := range thousand {
		f := flows().Example(i)
		files = append(files, writeFile(t, dir, strconv.Itoa(i)+".yaml", format.EncodeFlow(f)))
		want = append(want, flowAsRead(f))
	}
	var got []read
	python(t, "yaml", `
import sys, json, yaml
def read(f):
    r = yaml.safe_load(open(f, encoding="utf-8", newline=""))
    s = r.get("story") or {}
    return {"id": r["id"], "name": r["name"], "description": r.get("description", ""), "story": s, "nodes": [x["id"] for x in r["nodes"]],
        "edges": [[x["from"], x["to"], x.get("name", "")] for x in r["connections"]]}
print(json.dumps([read(f) for f in sys.argv[1:]]))`, files, &got)
	same(t, want, got)
}

func flowAsRead(f flow.Flow) read {
	story := map[string]any{}
	for key, text := range map[string]*string{
		"title": f.Story.Title, "synopsis": f.Story.Synopsis, "setting": f.Story.Setting, "plot": f.Story.Plot, "note": f.Story.Note,
		"dialogue_level": f.Story.DialogueLevel, "rating": f.Story.Rating,
	} {
		if text != nil {
			story[key] = *text
		}
	}
	for key, texts := range map[string][]string{"keywords": f.Story.Keywords, "genres": f.Story.Genres} {
		if len(texts) > 0 {
			story[key] = list(texts)
		}
	}
	nodes, edges := []any{}, []any{}
	for _, m := range f.Members {
		nodes = append(nodes, m.Node.String())
	}
	for _, e := range f.Edges {
		edges = append(edges, []any{float64(e.From), float64(e.To), e.Name})
	}
	return read{"id": f.ID.String(), "name": f.Name, "description": f.Description, "story": story, "nodes": nodes, "edges": edges}
}

func list(texts []string) []any {
	out := []any{}
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}

func same(t *testing.T, want, got []read) {
	t.Helper()
	differing := 0
	for i := range min(len(want), len(got)) {
		if diff := cmp.Diff(want[i], got[i], cmpopts.EquateEmpty()); diff != "" && differing < 5 {
			t.Errorf("file %d: %s", i, diff)
			differing++
		}
	}
	if len(want) != thousand || len(got) != thousand {
		t.Errorf("%d written, %d read", len(want), len(got))
	}
}
