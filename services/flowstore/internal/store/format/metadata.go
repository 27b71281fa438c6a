package format

import (
	"bytes"
	"encoding/hex"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// MaxMetadata is the largest metadata file that is read, in bytes: more than what a full namespace of Slots nodes has.
const MaxMetadata = 512 << 20

// NodeEntry is what metadata/index.yaml says of a node (seed 004, 6.2).
type NodeEntry struct {
	ID      uuid.UUID
	Created time.Time
	// Keywords are the node's tags. The file has them in one text, with commas between them, so a tag that a hand gave a
	// comma is read as two; metadata/tags.yaml has every tag as it is.
	Keywords []string
	Summary  string
}

// TagEntry is what metadata/tags.yaml says of a tag (seed 004, 6.1): the nodes that have it.
type TagEntry struct {
	Tag   string
	Nodes []uuid.UUID
}

// EncodeNodeIndex writes metadata/index.yaml. nodes come by their ids, rising, each once; then the same nodes are the same
// bytes, and a change of one is a small change of the file. updated is when the namespace last changed, and never the
// clock; a zero time is left out. The error is that of dst, or an *Error where the order is another one.
func EncodeNodeIndex(dst io.Writer, updated time.Time, nodes iter.Seq[NodeEntry]) error {
	w := newMetadataWriter(dst, updated, "nodes")
	var last uuid.UUID
	for n := range nodes {
		if slices.Compare(n.ID[:], last[:]) <= 0 {
			return unreadable("node %s comes behind %s; they must come by their ids, each once", n.ID, last)
		}
		last = n.ID
		w.out = append(appendID(append(w.begin(), "  "...), n.ID), ":\n"...)
		if !n.Created.IsZero() {
			w.out = append(appendTime(append(w.out, metaCreated...), n.Created), '\n')
		}
		if len(n.Keywords) > 0 {
			w.out = append(appendQuoted(append(w.out, metaKeywords...), strings.Join(n.Keywords, ",")), '\n')
		}
		if n.Summary != "" {
			w.out = append(appendQuoted(append(w.out, metaSummary...), n.Summary), '\n')
		}
		if w.flush(flushBytes); w.err != nil {
			return w.err
		}
	}
	return w.end()
}

// EncodeTags writes metadata/tags.yaml. tags come by their names, byte by byte, the nodes of each by their ids, both rising
// and each once; a tag without nodes is left out. updated and the error are as in EncodeNodeIndex.
func EncodeTags(dst io.Writer, updated time.Time, tags iter.Seq[TagEntry]) error {
	w := newMetadataWriter(dst, updated, "tags")
	last, first := "", true
	for t := range tags {
		if !first && t.Tag <= last {
			return unreadable("tag %q comes behind %q; they must come by their names, each once", cut(t.Tag), cut(last))
		}
		last, first = t.Tag, false
		if len(t.Nodes) == 0 {
			continue
		}
		w.tag(t.Tag)
		var before uuid.UUID
		for _, id := range t.Nodes {
			if slices.Compare(id[:], before[:]) <= 0 {
				return unreadable("under tag %q, node %s comes behind %s; they must come by their ids, each once", cut(t.Tag), id, before)
			}
			before = id
			w.out = append(appendID(append(w.out, metaItem...), id), '\n')
			if w.flush(flushBytes); w.err != nil {
				return w.err
			}
		}
	}
	return w.end()
}

// MetadataTime gives what a metadata file of our own form says of when the namespace last changed; ok is false where it is of
// another form, or does not say.
func MetadataTime(data []byte) (updated time.Time, ok bool) {
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	text, ok := bytes.CutPrefix(line, []byte(metaUpdated))
	if !ok {
		return time.Time{}, false
	}
	return canonicalTime(string(text))
}

// How the lines of the metadata files are written.
const (
	metaUpdated  = "updated: "
	metaCreated  = "    timestamp: "
	metaKeywords = "    keywords: "
	metaSummary  = "    summary: "
	metaItem     = "    - "
	metaLongKey  = "  ? "
	metaLongEnd  = "  :\n"
)

// maxPlainKey is the longest tag that is written before a colon, quoted, in bytes. Readers look no further for the colon
// than 1,024 characters (YAML 1.2.2, 7.4.2); a longer one gets a line of its own behind a question mark.
const maxPlainKey = 1000

// flushBytes is how much is kept before it is handed on.
const flushBytes = 64 << 10

// metadataWriter hands lines on in large pieces.
type metadataWriter struct {
	dst     io.Writer
	out     []byte
	key     string
	started bool
	err     error
}

func newMetadataWriter(dst io.Writer, updated time.Time, key string) *metadataWriter {
	w := &metadataWriter{dst: dst, out: make([]byte, 0, 2*flushBytes), key: key}
	if !updated.IsZero() {
		w.out = append(appendTime(append(w.out, metaUpdated...), updated), '\n')
	}
	return w
}

// begin writes the key before the first entry.
func (w *metadataWriter) begin() []byte {
	if !w.started {
		w.started = true
		w.out = append(append(w.out, w.key...), ":\n"...)
	}
	return w.out
}

// tag writes a tag in double quotes, whatever it is, so that no reader takes it for something else than a text.
func (w *metadataWriter) tag(name string) {
	key := appendQuoted(nil, name)
	if len(key) > maxPlainKey {
		w.out = append(append(append(append(w.begin(), metaLongKey...), key...), '\n'), metaLongEnd...)
		return
	}
	w.out = append(append(append(w.begin(), "  "...), key...), ":\n"...)
}

func (w *metadataWriter) flush(above int) {
	if len(w.out) > above {
		_, w.err = w.dst.Write(w.out)
		w.out = w.out[:0]
	}
}

func (w *metadataWriter) end() error {
	if !w.started {
		w.out = append(append(w.out, w.key...), ": {}\n"...)
	}
	w.flush(0)
	return w.err
}

// appendID appends a UUID in its usual form.
func appendID(dst []byte, id uuid.UUID) []byte {
	dst = append(hex.AppendEncode(dst, id[:4]), '-')
	dst = append(hex.AppendEncode(dst, id[4:6]), '-')
	dst = append(hex.AppendEncode(dst, id[6:8]), '-')
	dst = append(hex.AppendEncode(dst, id[8:10]), '-')
	return hex.AppendEncode(dst, id[10:])
}
