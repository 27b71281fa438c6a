package tokenizer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// gguf is the head of a .gguf file, of which only the entries that begin with `tokenizer.` are kept
// (the GGUF specification, versions 2 and 3).
type gguf struct {
	r    *bufio.Reader
	left int64
	err  error
}

// The types of values.
const (
	ggufUint8 = iota
	ggufInt8
	ggufUint16
	ggufInt16
	ggufUint32
	ggufInt32
	ggufFloat32
	ggufBool
	ggufString
	ggufArray
	ggufUint64
	ggufInt64
	ggufFloat64
)

// ggufSizes are the bytes of the types of one size.
var ggufSizes = map[uint32]int64{
	ggufUint8: 1, ggufInt8: 1, ggufUint16: 2, ggufInt16: 2, ggufUint32: 4, ggufInt32: 4, ggufFloat32: 4, ggufBool: 1,
	ggufUint64: 8, ggufInt64: 8, ggufFloat64: 8,
}

var errGGUF = errors.New("is no GGUF file, or it is cut off")

// readHead gives the entries of the head that keep wants.
func readHead(f io.Reader, keep func(key string) bool) (map[string]any, error) {
	g := &gguf{r: bufio.NewReaderSize(f, 1<<20), left: MaxFile}
	if string(g.bytes(4)) != "GGUF" {
		return nil, errGGUF
	}
	if version := g.uint32(); g.err == nil && version != 2 && version != 3 {
		return nil, fmt.Errorf("is of GGUF version %d; versions 2 and 3 are known", version)
	}
	g.uint64() // tensors
	entries := map[string]any{}
	for n := g.uint64(); n > 0 && g.err == nil; n-- {
		key, kind := g.string(), g.uint32()
		if keep(key) {
			entries[key] = g.value(kind)
		} else {
			g.pass(kind, 0)
		}
	}
	return entries, g.err
}

// bytes reads n bytes; nil when the file or the limit ends before.
func (g *gguf) bytes(n int64) []byte {
	if g.err != nil || n < 0 || n > g.left {
		g.fail()
		return nil
	}
	g.left -= n
	b := make([]byte, n)
	if _, err := io.ReadFull(g.r, b); err != nil {
		g.fail()
		return nil
	}
	return b
}

func (g *gguf) fail() {
	if g.err == nil {
		g.err = errGGUF
		if g.left < MaxFile/2 {
			g.err = fmt.Errorf("%w; or its head is larger than %d bytes", errGGUF, MaxFile)
		}
	}
}

func (g *gguf) uint32() uint32 {
	if b := g.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (g *gguf) uint64() uint64 {
	if b := g.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (g *gguf) string() string { return string(g.bytes(int64(min(g.uint64(), math.MaxInt64)))) }

// value reads a text, a truth, a whole number, or a list of texts or numbers; of other types nothing is kept.
func (g *gguf) value(kind uint32) any {
	switch kind {
	case ggufString:
		return g.string()
	case ggufBool:
		b := g.bytes(1)
		return len(b) == 1 && b[0] != 0
	case ggufUint32, ggufInt32:
		return int64(int32(g.uint32()))
	case ggufArray:
		return g.array()
	}
	g.pass(kind, 0)
	return nil
}

func (g *gguf) array() any {
	kind, n := g.uint32(), g.uint64()
	if n > maxTokens {
		g.fail()
		return nil
	}
	switch kind {
	case ggufString:
		list := make([]string, 0, min(n, 1<<16))
		for ; n > 0 && g.err == nil; n-- {
			list = append(list, g.string())
		}
		return list
	case ggufFloat32:
		list := make([]float32, 0, min(n, 1<<16))
		for ; n > 0 && g.err == nil; n-- {
			list = append(list, math.Float32frombits(g.uint32()))
		}
		return list
	case ggufInt32, ggufUint32:
		list := make([]int32, 0, min(n, 1<<16))
		for ; n > 0 && g.err == nil; n-- {
			list = append(list, int32(g.uint32()))
		}
		return list
	}
	for ; n > 0 && g.err == nil; n-- {
		g.pass(kind, 1)
	}
	return nil
}

// maxDepth is how deep lists may stand in lists.
const maxDepth = 4

// pass reads over a value.
func (g *gguf) pass(kind uint32, depth int) {
	size, fixed := ggufSizes[kind]
	switch {
	case fixed:
		g.skip(size)
	case kind == ggufString:
		g.skip(int64(min(g.uint64(), math.MaxInt64)))
	case kind == ggufArray && depth < maxDepth:
		inner, n := g.uint32(), g.uint64()
		if size, fixed := ggufSizes[inner]; fixed && n <= MaxFile {
			g.skip(size * int64(n))
			return
		}
		for ; n > 0 && g.err == nil; n-- {
			g.pass(inner, depth+1)
		}
	default:
		g.fail()
	}
}

func (g *gguf) skip(n int64) {
	if g.err != nil || n < 0 || n > g.left {
		g.fail()
		return
	}
	g.left -= n
	if _, err := io.CopyN(io.Discard, g.r, n); err != nil {
		g.fail()
	}
}

// readGGUF reads the vocabulary of a .gguf file.
func readGGUF(f *os.File) (*vocabulary, error) { return parseGGUF(f) }
