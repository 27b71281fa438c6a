package format_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

const nodeByHand = "\ufeff<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + `<!-- kept by hand -->
<node timestamp='2025-05-09T06:48:06+09:00' id="0197A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B" colour="red">
  <contents>
    <content role="user" count="6" duration="1.20" mood = "calm"><!-- my question --><![CDATA[
問い]]>` + "\r" + `<![CDATA[
]]></content>
    <!-- between -->
    <text role="assistant"/>
    <text role="tool" rate="4.990">a &lt;plain&gt; one, caf` + "\xe9" + `</text>
  </contents>
  <metadata x:by="me">
    <model>gemma</model>
    <summary updated="false"></summary>
    <tags tag="last"><tag>first</tag><tag>second</tag></tags>
    <stars>5</stars>
  </metadata>
  <links><link to="elsewhere"/></links>
</node>
<!-- the end -->
`

// field/flowstore.md row 23: what a person added to a file, and every text that did not change, survives a change.
func TestUpdateHandMadeNode(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(n *node.Node){
		"nothing": func(*node.Node) {},
		"texts": func(n *node.Node) {
			n.Texts[0].Content, n.Texts[0].Count, n.Texts[0].Duration = "問い]]>\r\n二", 7, 0
			n.Texts[1].Content = "答え"
		},
		"escaped": func(n *node.Node) { n.Texts[0].Content += "\x1b\\" },
		"fewer":   func(n *node.Node) { n.Texts = n.Texts[:1] },
		"more": func(n *node.Node) {
			n.Texts = append(slices.Clone(n.Texts), node.Text{Role: "user", Content: "次"}, node.Text{Role: "assistant"})
		},
		"rest": func(n *node.Node) {
			n.Model, n.Tags, n.Score, n.Note = "a<b", []string{"first", "third", "last"}, ptr(4.5), "よい\n。"
			n.Summary = node.Summary{Text: "要約", Built: noon, Stale: true}
			n.Generation = &node.Generation{Task: "CONT_INFO"}
		},
		"none":  func(n *node.Node) { n.Model, n.Tags, n.Texts = "", nil, nil },
		"clock": func(n *node.Node) { n.Created = noon },
	} {
		n := decodeNode(t, []byte(nodeByHand))
		n.Texts = slices.Clone(n.Texts)
		change(&n)
		data, kept := format.UpdateNode([]byte(nodeByHand), n)
		if !kept {
			t.Errorf("%s: not kept", name)
		}
		testkit.Golden(t, "hand_"+name+".xml", data)
		n.Warnings = nil
		got := decodeNode(t, data)
		got.Warnings = nil
		if diff := cmp.Diff(n, got, sameTime); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if name == "nothing" && string(data) != strings.Replace(nodeByHand, "0197A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B", n.ID.String(), 1) {
			t.Errorf("without a change:\n%s", data)
		}
	}
}

// A file of our own form is written anew, and so is one that cannot be edited: then the caller is told.
func TestUpdateNodeAnew(t *testing.T) {
	t.Parallel()
	n := whole()
	n.Texts[0].Content = "別"
	canonical := string(format.EncodeNode(whole()))
	other := person()
	other.ID = id2
	generated := whole()
	generated.Generation.Task = "IDEA_INFO"
	for name, c := range map[string]struct {
		old  string
		n    node.Node
		kept bool
	}{
		"canonical":           {canonical, n, true},
		"broken":              {canonical[:200], n, false},
		"another node":        {canonical, other, false},
		"another, by hand":    {nodeByHand, other, false},
		"two models":          {strings.Replace(canonical, "<model>", "<model>a</model><model>", 1), n, false},
		"generation":          {strings.Replace(canonical, "<node", "<!-- x -->\n<node", 1), generated, true},
		"an edited one":       {strings.Replace(canonical, "<error>", "<!-- x --><error>", 1), generated, false},
		"an edited one stays": {strings.Replace(canonical, "<error>", "<!-- x --><error>", 1), n, true},
	} {
		data, kept := format.UpdateNode([]byte(c.old), c.n)
		if kept != c.kept {
			t.Errorf("%s: kept is %v\n%s", name, kept, data)
		}
		if !bytes.Equal(data, format.EncodeNode(c.n)) && (!kept || name == "canonical") {
			t.Errorf("%s: not written anew:\n%s", name, data)
		}
		if diff := cmp.Diff(c.n, decodeNode(t, data), sameTime); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Empty parents take children in, whatever form they have.
func TestUpdateBareNodes(t *testing.T) {
	t.Parallel()
	const head = `<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06.533720+09:00"`
	for i, old := range []string{
		head + "/>", head + "></node>", head + "><contents/><metadata/></node>", head + ">\n<contents  a='b' />\n<metadata>\n</metadata></node>",
		head + "><metadata><tags/><summary/><model a='&#13;'/><score/><note/></metadata></node>",
		head + "><m:metadata xmlns:m='x'><m:tags></m:tags></m:metadata></node>",
	} {
		data, kept := format.UpdateNode([]byte(old), whole())
		if diff := cmp.Diff(whole(), decodeNode(t, data), sameTime); diff != "" || !kept {
			t.Errorf("%d: kept is %v\n%s\n%s", i, kept, data, diff)
		}
	}
}

// hands write a node as others may: with foreign elements, attributes and comments between its own.
type hands struct {
	r   *rand.Rand
	out strings.Builder
	// marks are the foreign things in their order, texts the elements of the texts.
	marks, texts []string
}

func (h *hands) mark(form string) string {
	m := fmt.Sprintf(form, len(h.marks))
	h.marks = append(h.marks, m)
	return m
}

// between puts something between two elements.
func (h *hands) between() {
	h.out.WriteString([]string{"", "\n", "\r\n\t", "   ", "\n\n  "}[h.r.IntN(5)])
	if h.r.IntN(3) == 0 {
		h.out.WriteString(h.mark([]string{"<!-- %d <b> -->", "<x:n a='%d>'>★<b/></x:n>", "<?pi %d?>", "<y><![CDATA[ %d ]]></y>"}[h.r.IntN(4)]))
	}
}

func (h *hands) write(n node.Node) {
	for _, block := range elementsOf(string(format.EncodeNode(n))) {
		if name := block[1:strings.IndexAny(block, " />")]; name != "" && name != "generation" && name != "tag" && h.r.IntN(3) == 0 {
			block = "<" + name + h.mark(" z=\"%d'\"") + block[1+len(name):]
		}
		if strings.HasPrefix(block, "<text") {
			h.texts = append(h.texts, block)
		}
		if h.out.WriteString(block); block != "</node>" {
			h.between()
		}
	}
	h.out.WriteString("\n" + h.mark("<!-- the end %d -->"))
}

// elementsOf splits a canonical file into start tags, end tags, and whole elements of those that hold a text.
func elementsOf(file string) (blocks []string) {
	_, rest, _ := strings.Cut(file, "?>\n")
	for rest != "" {
		end := strings.Index(rest, ">\n")
		for _, name := range []string{"text", "summary", "note", "generation"} {
			if empty := rest[strings.Index(rest, ">")-1] == '/'; !empty && strings.HasPrefix(rest, "<"+name) {
				end = strings.Index(rest, "</"+name+">\n") + len(name) + 2
			}
		}
		blocks, rest = append(blocks, rest[:end+1]), rest[end+2:]
	}
	return blocks
}

// Whatever other hands put into a file is there after a change, and so is every text that did not change, byte for byte.
func TestForeignMarksSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := nodes().Draw(t, "node")
		h := hands{r: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
		h.write(n)
		old := h.out.String()
		before, err := format.DecodeNode([]byte(old))
		if err != nil {
			t.Fatalf("%v in\n%s", err, old)
		}
		if diff := cmp.Diff(n, before, sameTime); diff != "" {
			t.Fatalf("the marks changed the node: %s\n%s", diff, old)
		}
		after := nodes().Draw(t, "after")
		after.ID, after.Generation = n.ID, n.Generation
		var same []string
		for i, text := range n.Texts {
			if len(after.Texts) <= i {
				after.Texts = append(after.Texts, text)
			}
			if rapid.Bool().Draw(t, "same") {
				after.Texts[i] = text
				same = append(same, h.texts[i])
			}
		}
		if after.Summary.Source != "" {
			after.Summary.Source = after.Source()
		}
		checkUpdate(t, old, after, h.marks, same)
	})
}

func checkUpdate(t *rapid.T, old string, after node.Node, marks, same []string) {
	data, kept := format.UpdateNode([]byte(old), after)
	if !kept {
		t.Fatalf("not kept:\n%s\nfor\n%s", old, format.EncodeNode(after))
	}
	got, err := format.DecodeNode(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if diff := cmp.Diff(after, got, sameTime); diff != "" {
		t.Fatalf("%s\n%s\nwas\n%s", diff, data, old)
	}
	rest := string(data)
	for _, list := range [][]string{marks, same} {
		for _, mark := range list {
			if !strings.Contains(rest, mark) {
				t.Fatalf("%q is lost in\n%s\nwas\n%s", mark, data, old)
			}
		}
	}
}
