package format_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// FuzzNodeText: any text comes back from a node file byte for byte.
func FuzzNodeText(f *testing.F) {
	for _, text := range append([]string{"]]>", "]]\r>", "\x00\\", "\ufffe", "\n", `\u{41}`}, case20...) {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, content, tag string) {
		if !utf8.ValidString(content) || !utf8.ValidString(tag) {
			t.Skip("gRPC delivers valid UTF-8")
		}
		n := person()
		n.Texts[0].Content, n.Tags, n.Model = content, []string{tag}, tag
		back, err := format.DecodeNode(format.EncodeNode(n))
		if err != nil {
			t.Fatal(err)
		}
		if back.Texts[0].Content != content || back.Tags[0] != tag || back.Model != tag {
			t.Errorf("%q, %q came back as %q, %q, %q", content, tag, back.Texts[0].Content, back.Tags[0], back.Model)
		}
	})
}

// FuzzDecodeNode: no bytes crash the reader, a refusal says why, and what was read comes back when it is written.
func FuzzDecodeNode(f *testing.F) {
	f.Add(format.EncodeNode(whole()))
	f.Add(format.EncodeNode(person()))
	knobs := person()
	knobs.Generation = &node.Generation{Sampling: everyKnob()}
	f.Add(format.EncodeNode(knobs))
	f.Add([]byte(`<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06"><contents><content role="a" esc="u">\\\u{0}\x</content></contents></node>`))
	f.Add([]byte("<?xml version=\"1.0\"?><!DOCTYPE node [<!ENTITY a \"b\">]><node>&a;</node>"))
	f.Add([]byte("\ufeff<node/>\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := format.DecodeNode(data)
		var own *format.Error
		switch {
		case err != nil && (!errors.As(err, &own) || own.Reason == ""):
			t.Fatalf("an error that says nothing: %#v", err)
		case err != nil || n.Created.Year() < 0 || n.Created.Year() > 9999:
			return
		}
		n.Warnings = nil
		back, err := format.DecodeNode(format.EncodeNode(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, back, sameTime); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzDecodeFlow: no bytes crash the reader, a refusal says why, and a change keeps every value.
func FuzzDecodeFlow(f *testing.F) {
	f.Add(format.EncodeFlow(novel()))
	f.Add(format.EncodeFlow(bare()))
	f.Add([]byte(handMade))
	f.Add([]byte(aligned))
	f.Add([]byte("id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\nnodes: {}\n? [a]\n: b\n!x y: !!binary z\n"))
	f.Add([]byte("{id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b, nodes: [{index: 1}], connections: [{from: 1, to: 1}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := format.DecodeFlow(data)
		var own *format.Error
		if err != nil {
			if !errors.As(err, &own) || own.Reason == "" {
				t.Fatalf("an error that says nothing: %#v", err)
			}
			return
		}
		want := string(format.EncodeFlow(got))
		back, err := format.DecodeFlow([]byte(want))
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if diff := cmp.Diff(want, string(format.EncodeFlow(back))); diff != "" {
			t.Error(diff)
		}
		text, _ := format.UpdateFlow(data, got)
		back, err = format.DecodeFlow(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want, string(format.EncodeFlow(back))); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzReadIndex: no bytes crash the reader, and a sound index holds what its rows say.
func FuzzReadIndex(f *testing.F) {
	f.Add([]byte(format.IndexHeader + line1 + line2))
	f.Add([]byte("\ufeff" + format.IndexHeader + "<<<<<<< HEAD\n" + line1 + "000/009.xml\t0190"))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, _ := format.Nodes.ReadIndex(data)
		written := []byte(format.IndexHeader)
		for _, r := range rows {
			if _, ours := format.Nodes.ParseName(r.Path); !ours {
				t.Fatalf("a row leads to %q", r.Path)
			}
			written = format.AppendRow(written, r)
		}
		again, _ := format.Nodes.ReadIndex(written)
		if diff := cmp.Diff(rows, again, sameTime); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzUpdateNode: whatever file a node had, after a change it says what the node says; one that was kept holds its comments.
func FuzzUpdateNode(f *testing.F) {
	f.Add([]byte(nodeByHand), "x", "y")
	f.Add(format.EncodeNode(whole()), "\x1b", "]]>")
	f.Add([]byte(`<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06Z"><a:contents/><metadata><tags a:tag = 'b' /><?p?></metadata></node>`), "\r", "")
	f.Fuzz(func(t *testing.T, old []byte, content, tag string) {
		n, err := format.DecodeNode(old)
		if err != nil || n.Created.Year() < 0 || n.Created.Year() > 9999 {
			return
		}
		n.Texts = append(n.Texts[:len(n.Texts):len(n.Texts)], node.Text{Role: "user", Content: content})
		n.Texts[0].Content = content
		n.Tags, n.Model, n.Note, n.Summary.Text = append([]string{tag}, n.Tags...), tag, content, content
		want := format.EncodeNode(n)
		data, kept := format.UpdateNode(old, n)
		got, err := format.DecodeNode(data)
		if err != nil {
			t.Fatalf("%v (kept is %v)\n%s", err, kept, data)
		}
		n, err = format.DecodeNode(want)
		if err != nil {
			t.Fatal(err)
		}
		n.Warnings, got.Warnings = nil, nil
		if diff := cmp.Diff(n, got, sameTime); diff != "" {
			t.Errorf("kept is %v: %s\n%s", kept, diff, data)
		}
	})
}

// FuzzDecodeMetadata: no bytes crash the readers, a refusal says why, and what was read comes back when it is written.
func FuzzDecodeMetadata(f *testing.F) {
	f.Add(encodeNodes(f, manyNodes(2)))
	f.Add(encodeTags(f, []format.TagEntry{{Tag: "<<", Nodes: []uuid.UUID{id1, id2}}}))
	f.Add([]byte("\ufeffnodes: {? [a] : b, x: {}}\nnodes: []\n"))
	f.Add([]byte("tags: {<<: [x, [y]], <<: &a []}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := format.DecodeNodeIndex(data)
		refusal(t, err)
		slices.SortFunc(x.Nodes, func(a, b format.NodeEntry) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		for i := range x.Nodes {
			x.Nodes[i].Keywords, x.Nodes[i].Created = nil, time.Time{}
		}
		again, err := format.DecodeNodeIndex(encodeNodes(t, x.Nodes))
		if diff := cmp.Diff(x.Nodes, again.Nodes, cmpopts.EquateEmpty()); diff != "" || err != nil || len(again.Problems) > 0 {
			t.Error(err, again.Problems, diff)
		}
		y, err := format.DecodeTags(data)
		refusal(t, err)
		slices.SortFunc(y.Tags, func(a, b format.TagEntry) int { return strings.Compare(a.Tag, b.Tag) })
		for _, tag := range y.Tags {
			slices.SortFunc(tag.Nodes, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		}
		back, err := format.DecodeTags(encodeTags(t, y.Tags))
		if diff := cmp.Diff(y.Tags, back.Tags, cmpopts.EquateEmpty()); diff != "" || err != nil || len(back.Problems) > 0 {
			t.Error(err, back.Problems, diff)
		}
	})
}

func refusal(t *testing.T, err error) {
	t.Helper()
	var own *format.Error
	if err != nil && (!errors.As(err, &own) || own.Reason == "") {
		t.Fatalf("an error that says nothing: %#v", err)
	}
}
