package format

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// UpdateFlow is that of the zero Reader.
func UpdateFlow(old []byte, f flow.Flow) (text []byte, kept bool) { return Reader{}.UpdateFlow(old, f) }

// UpdateFlow gives the file of a flow that changed, from the file that it had: in a file that a person edited, comments
// and unknown keys stay where they are, and only what changed is written, and ids in lower case (field/flowstore.md rows 12
// and 23). kept is false where that cannot be done, because the old file is no flow or its YAML cannot be edited without
// altering a value: then the file is written anew, and the old one needs to be kept beside it.
//
// old is read as DecodeFlow of the same Reader does: with another one, a time without a zone would seem to have changed.
func (d Reader) UpdateFlow(old []byte, f flow.Flow) (text []byte, kept bool) {
	fresh := EncodeFlow(f)
	before, err := d.DecodeFlow(old)
	if err != nil {
		return fresh, false
	}
	if bytes.Equal(EncodeFlow(before), old) {
		return fresh, true
	}
	edited, ok := editFlow(old, before, f)
	if !ok {
		return fresh, false
	}
	if after, err := d.DecodeFlow(edited); err != nil || !bytes.Equal(EncodeFlow(after), fresh) {
		return fresh, false
	}
	return edited, true
}

// editFlow brings the parsed file from one state of the flow to another, as far as changes of a flow go.
func editFlow(old []byte, before, after flow.Flow) ([]byte, bool) {
	text, _ := body(old)
	lead, middle, tail := comments(text)
	root, err := yamlx.Parse(middle)
	if err != nil {
		return nil, false
	}
	holdBlanks(root, bytes.Split(middle, []byte("\n")))
	lowerIDs(root)
	if updated := formatTime(after.Updated); updated != formatTime(before.Updated) {
		setScalar(root, "updated", "!!timestamp", updated)
	}
	editWords(root, before, after)
	if !editHeads(root, before, after) || !editLinks(root, before, after) || !editMembers(root, before, after) || !editEdges(root, before, after) {
		return nil, false
	}
	if after.Next > flow.NextOf(after) {
		setScalar(root, "next", "!!int", strconv.Itoa(after.Next))
	}
	if after.Current != before.Current || len(before.Problems) > 0 {
		setCurrent(root, after.Current)
	}
	written, err := yamlx.Marshal(root)
	return slices.Concat(lead, setBlanks(written), tail), err == nil
}

// setScalar gives a key a value; a new key comes before the nodes.
func setScalar(root *yamlx.Node, key, tag, value string) {
	if n := yamlx.Get(root, key); n != nil {
		n.Kind, n.Tag, n.Value, n.Style, n.Content = yamlx.Scalar, tag, value, 0, nil
		return
	}
	insert(root, key, scalar(tag, value))
}

func setCurrent(root *yamlx.Node, index int) {
	if index != 0 {
		setScalar(root, "current", "!!int", strconv.Itoa(index))
		return
	}
	removeKey(root, "current")
}

// keyAt says where in the content of a mapping a key stands; its end where it does not.
func keyAt(root *yamlx.Node, key string) int {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == key {
			return i
		}
	}
	return len(root.Content)
}

// lowerIDs writes the ids of a flow, and those by which it refers to nodes and flows, as EncodeFlow does: in lower case.
func lowerIDs(root *yamlx.Node) {
	lowerID(yamlx.Get(root, "id"))
	lowerID(yamlx.Get(root, "current"))
	for list, keys := range map[string][]string{"nodes": {"id"}, "connections": {"from", "to"}, "links": {"flow", "from"}} {
		for _, entry := range within(root, list) {
			for _, key := range keys {
				lowerID(yamlx.Get(entry, key))
			}
		}
	}
	heads := within(root, "heads")
	for i := 1; i < len(heads); i += 2 { // a name before each may be anything
		lowerID(heads[i])
	}
}

// within gives what stands in the list or mapping of a key.
func within(root *yamlx.Node, key string) []*yamlx.Node {
	if n := yamlx.Get(root, key); n != nil {
		return n.Content
	}
	return nil
}

func lowerID(n *yamlx.Node) {
	if n == nil {
		return
	}
	if id, err := parseID(n.Value); err == nil {
		n.Value = id.String()
	}
}
