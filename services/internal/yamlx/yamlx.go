// Package yamlx reads and writes YAML, and is the only importer of yaml.v3.
//
// yaml.v3 compares all keys of a mapping with each other when it decodes into a struct or map: 100,000 keys take a minute
// and more (field/perf.md 4). It also reads only the first document of a file, knows `<<` and aliases (a few bytes that
// unfold into gigabytes), and drops an unknown key without a word. So text becomes a Node, which is linear, and the Node
// is decoded here: strictly, with every problem at once.
package yamlx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits of Parse. A text beyond them is an error that names the limit.
const (
	// MaxBytes is the largest text: a flow of 100,000 nodes fits.
	MaxBytes = 16 << 20
	// MaxDepth is how deep mappings and lists may be nested.
	MaxDepth = 64
)

// Node is a piece of parsed YAML, with its comments and line numbers.
type Node = yaml.Node

// Kinds of a Node.
const (
	Mapping  = yaml.MappingNode
	Sequence = yaml.SequenceNode
	Scalar   = yaml.ScalarNode
)

// Styles of a Scalar.
const (
	// DoubleQuoted is a text that no reader takes for something else than a text.
	DoubleQuoted = yaml.DoubleQuotedStyle
	// Literal is a text of several lines, as they are.
	Literal = yaml.LiteralStyle
)

// Parse reads one document and gives its content; an empty one is an empty mapping. Beyond MaxBytes or MaxDepth, with a
// second document, with an alias, or when it is no YAML, the error is an *Error.
func Parse(text []byte) (*Node, error) {
	if len(text) > MaxBytes {
		return nil, fault(nil, "is %d bytes long; the limit is %d", len(text), MaxBytes)
	}
	doc, err := document(text)
	if err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return &Node{Kind: Mapping, Tag: "!!map", Line: 1}, nil
	}
	root := doc.Content[0]
	return root, bounded(root, 0)
}

func document(text []byte) (doc *Node, err error) {
	defer func() { // yaml.v3 has paniced on broken input before; a file may not stop the process
		if p := recover(); p != nil {
			doc, err = nil, fault(nil, "is not YAML")
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	doc = &Node{}
	switch err := d.Decode(doc); {
	case errors.Is(err, io.EOF):
		return doc, nil
	case err != nil && strings.Contains(err.Error(), parserDepth):
		return nil, tooDeep(nil)
	case err != nil:
		return nil, fault(nil, "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&Node{}); !errors.Is(err, io.EOF) {
		return nil, fault(nil, "holds more than one document")
	}
	return doc, nil
}

// parserDepth is in what yaml.v3 says where it stops by itself, at 10,000 levels: before there is a Node to look at.
const parserDepth = "exceeded max depth"

func tooDeep(n *Node) *Error { return fault(n, "is nested more than %d deep", MaxDepth) }

func bounded(n *Node, depth int) error {
	if depth > MaxDepth {
		return tooDeep(n)
	}
	if n.Kind == yaml.AliasNode {
		return fault(n, "is an alias (*%s); write the value out", n.Value)
	}
	for _, c := range n.Content {
		if err := bounded(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Marshal writes v (a struct with yaml tags, a map, a Node) with an indent of two. A map's keys are sorted.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return b.Bytes(), nil
}

// Get gives the value of a key in a mapping, nil where there is none.
func Get(mapping *Node, key string) *Node {
	if mapping == nil || mapping.Kind != Mapping {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// Text makes a scalar out of text that does not come from YAML, such as an environment variable: where a list is
// wanted, it is split at commas.
func Text(value string) *Node { return &Node{Kind: Scalar, Tag: textTag, Value: value} }

const textTag = "!text"
