package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// version is that of our own export.
const version = 1

// maxParts is how many bytes of nodes wait for the flow that holds them; a longer flow is stored in parts, itself last.
const maxParts = 16 << 20

// line is one line of our own export: the head, a node, a flow behind its nodes, something that could not be exported, or the
// end. Exactly one of them is set (docs/import.md).
type line struct {
	Tsumugi *head         `json:"tsumugi,omitempty"`
	Node    *exportedNode `json:"node,omitempty"`
	Flow    *exportedFlow `json:"flow,omitempty"`
	Problem *problem      `json:"problem,omitempty"`
	End     *End          `json:"end,omitempty"`
}

type head struct {
	Version int `json:"version"`
}

type problem struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// End says what stands in an export, so that one which was cut is noticed.
type End struct {
	Flows    int `json:"flows"`
	Nodes    int `json:"nodes"`
	Problems int `json:"problems"`
}

// The lines of an export, each with its end of line.

// HeadLine begins an export.
func HeadLine() ([]byte, error) { return write(line{Tsumugi: &head{version}}) }

// NodeLine is a node. It stands before the flows that hold it, once.
func NodeLine(n node.Node) ([]byte, error) {
	out := fromNode(n)
	return write(line{Node: &out})
}

// FlowLine is a flow. Edges that paths leave out stay behind; `warnings` tell of them.
func FlowLine(f flow.Flow) ([]byte, error) {
	out := fromFlow(f)
	return write(line{Flow: &out})
}

// ProblemLine says that a node or flow could not be exported, and why.
func ProblemLine(name, reason string) ([]byte, error) {
	return write(line{Problem: &problem{name, reason}})
}

// EndLine ends an export.
func EndLine(e End) ([]byte, error) { return write(line{End: &e}) }

func write(l line) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return nil, fmt.Errorf("writing an export: %w", err)
	}
	return b.Bytes(), nil
}

// parts is what was read of an export and not given yet.
type parts struct {
	began, ended bool
	nodes        []node.Node
	bytes        int
}

// takeOwn reads a line of our own export.
func (r *reader) takeOwn(raw []byte, e Entry) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields() // what this program does not know would be lost without a word
	var l line
	if e.Err = dec.Decode(&l); e.Err != nil {
		e.ID = fmt.Sprintf("line %d of the file", r.n)
		e.Err = fmt.Errorf("it cannot be read: %w", e.Err)
		return r.give(e)
	}
	switch {
	case l.Tsumugi != nil:
		return r.takeHead(*l.Tsumugi, e)
	case l.Node != nil:
		return r.takeNode(*l.Node, len(raw))
	case l.Flow != nil:
		return r.takeFlow(*l.Flow)
	case l.Problem != nil:
		return r.give(Entry{ID: l.Problem.Name, Err: errors.New("it is not in the export: " + l.Problem.Reason)})
	}
	r.parts.ended = true
	return nil
}

func (r *reader) takeHead(h head, e Entry) error {
	r.parts.began = true
	if h.Version == version {
		return nil
	}
	e.Err = fmt.Errorf("the export has version %d; this program reads version %d", h.Version, version)
	return r.give(e)
}

func (r *reader) takeNode(in exportedNode, size int) error {
	n := in.node()
	if wrong := n.Check(); len(wrong) > 0 {
		return r.give(Entry{ID: node.Name(n.ID), Err: fmt.Errorf("%s %s", wrong[0].Field, wrong[0].Message)})
	}
	if zero(n.ID) || len(n.Texts) == 0 {
		return r.give(Entry{ID: node.Name(n.ID), Err: errors.New("a node must have an id and at least one text")})
	}
	r.parts.nodes = append(r.parts.nodes, n)
	if r.parts.bytes += size; r.parts.bytes < maxParts {
		return nil
	}
	return r.givePart(nil)
}

func (r *reader) takeFlow(in exportedFlow) error {
	f, err := in.flow()
	if err == nil {
		return r.givePart(&f)
	}
	if len(r.parts.nodes) > 0 {
		if err := r.givePart(nil); err != nil {
			return err
		}
	}
	return r.give(Entry{ID: flow.Name(in.ID), Err: err})
}

func (r *reader) givePart(f *flow.Flow) error {
	b := &Bundle{Flow: f, Nodes: r.parts.nodes}
	r.parts.nodes, r.parts.bytes = nil, 0
	e := Entry{Bundle: b}
	if f != nil {
		e.ID = flow.Name(f.ID)
	}
	return r.give(e)
}

// finish gives what waits, and tells of an export without an end.
func (r *reader) finish() error {
	if len(r.parts.nodes) > 0 {
		if err := r.givePart(nil); err != nil {
			return err
		}
	}
	if r.parts.began && !r.parts.ended {
		return r.give(Entry{Err: errors.New("the export has no last line: what stood behind this is missing")})
	}
	return nil
}
