package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// step is one step of a path: a key of an object, or an index of a list.
type step struct {
	key   string
	index int // -1: a key
}

func (s step) isKey() bool { return s.index < 0 }

// path leads to a value in a JSON document.
type path []step

// String writes the path as in `newNode.texts[2].role`.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case !s.isKey():
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// inList says that the path ends at an item of a list.
func (p path) inList() bool { return len(p) > 0 && !p[len(p)-1].isKey() }

// frame is an open object or list.
type frame struct {
	list  bool
	value bool // in an object: the next token is a value, not a key
}

// pathAt is the path of the token that the byte offset at lies in or before. The document is valid JSON, and is not read
// beyond that token.
func pathAt(raw []byte, at int) path {
	d := json.NewDecoder(bytes.NewReader(raw))
	var frames []frame
	var p path
	for {
		token, err := d.Token()
		if err != nil {
			return p
		}
		closing := token == json.Delim('}') || token == json.Delim(']')
		if closing {
			frames, p = frames[:len(frames)-1], p[:len(p)-1]
		}
		if len(frames) > 0 && !closing {
			p = advance(&frames[len(frames)-1], p, token)
		}
		if int(d.InputOffset()) > at {
			return p
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			list := token == json.Delim('[')
			frames = append(frames, frame{list: list})
			p = append(p, step{index: -1})
		}
	}
}

// advance moves the last step of the path to the token that was read in the innermost open object or list.
func advance(f *frame, p path, token json.Token) path {
	last := &p[len(p)-1]
	switch {
	case f.list:
		last.index++
	case f.value:
		f.value = false
	default:
		last.key, _ = token.(string)
		f.value = true
	}
	return p
}
