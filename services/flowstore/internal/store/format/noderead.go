package format

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Bounds of a node file.
const (
	maxDepth      = 16
	maxAttributes = 64
)

// DecodeNode is that of the zero Reader.
func DecodeNode(data []byte) (node.Node, error) { return Reader{}.DecodeNode(data) }

// DecodeNode reads a node file, also one that a person or the original of seed 004 wrote: `<content>` for `<text>`, tags
// as attributes, texts without the padding lines, any line ends, any time form (field/flowstore.md rows 4 to 11).
// Elements and attributes that it does not know are passed over. The error is an *Error.
func (d Reader) DecodeNode(data []byte) (node.Node, error) { return d.decodeNode(data, false) }

// NodeHead reads of a node file whose it is and when it was made. A file that DecodeNode refuses is refused with the same
// error; the texts of one that was not edited are passed over, which is all that makes it cheaper.
func (d Reader) NodeHead(data []byte) (id uuid.UUID, created time.Time, err error) {
	n, err := d.decodeNode(data, true)
	return n.ID, n.Created, err
}

// decodeNode reads a node file; with skim, the node may have no texts of elements.
func (d Reader) decodeNode(data []byte, skim bool) (node.Node, error) {
	text, err := body(data)
	if err != nil {
		return node.Node{}, err
	}
	if raw, ok := scanNode(text, skim); ok {
		return raw.node(d.Timezone)
	}
	readable, warnings := readableText(text)
	raw := &xmlNode{}
	if err := parseXML(readable, raw); err != nil {
		return node.Node{}, err
	}
	n, err := raw.node(d.Timezone)
	n.Warnings = append(warnings, n.Warnings...)
	return n, err
}

// readableText puts U+FFFD in place of bytes that are no UTF-8, and tells it (field/flowstore.md row 9).
func readableText(text []byte) (readable []byte, warnings []string) {
	if utf8.Valid(text) {
		return text, nil
	}
	for i, line := 0, 1; ; line++ {
		length := bytes.IndexByte(text[i:], '\n') + 1
		if length == 0 || !utf8.Valid(text[i:i+length]) {
			return bytes.ToValidUTF8(text, []byte("\ufffd")), []string{
				fmt.Sprintf("line %d holds bytes that are not UTF-8; there and below, U+FFFD stands for them", line),
			}
		}
		i += length
	}
}

// node gives what the file says; zone is as in Reader.
func (raw *xmlNode) node(zone *time.Location) (node.Node, error) {
	n := node.Node{}
	r := &reading{zone: cmp.Or(zone, time.UTC)}
	n.ID = r.id(raw.ID)
	n.Created = r.time("timestamp", raw.Timestamp)
	n.Texts = r.texts(raw.Contents.Items)
	n.Model = r.inline(raw.Metadata.Model)
	n.Tags = r.tags(raw.Metadata.Tags)
	n.Summary = r.summary(raw.Metadata.Summary, n)
	n.Generation = r.generation(raw.Metadata.Generation)
	n.Score = r.score(raw.Metadata.Score)
	n.Note = r.section(raw.Metadata.Note)
	n.Warnings = r.warnings
	if r.err != nil {
		return node.Node{}, r.err
	}
	return n, nil
}

// parseXML reads one element and nothing behind it.
func parseXML(text []byte, dst any) error {
	if err := checkTags(text); err != nil {
		return err
	}
	bounded := &boundedXML{raw: xml.NewDecoder(bytes.NewReader(text))}
	d := xml.NewTokenDecoder(bounded)
	if err := d.Decode(dst); err != nil {
		return xmlError(bounded, err)
	}
	for {
		switch token, err := d.Token(); token := token.(type) {
		case nil:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return xmlError(bounded, err)
		case xml.CharData:
			if len(bytes.TrimSpace(token)) > 0 {
				return xmlError(bounded, errors.New("there is text behind the end of the node"))
			}
		case xml.StartElement:
			return xmlError(bounded, fmt.Errorf("a second element <%s> begins behind the end of the node", token.Name.Local))
		}
	}
}

func xmlError(b *boundedXML, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, io.EOF) {
		return unreadable("holds no element")
	}
	reason := strings.TrimPrefix(err.Error(), "xml: ")
	if syntax := (*xml.SyntaxError)(nil); errors.As(err, &syntax) {
		reason = syntax.Msg
	}
	if reason == "unexpected EOF" {
		reason = "the file ends in the middle of an element"
	}
	line, _ := b.raw.InputPos()
	return unreadable("line %d: %s", line, reason)
}

// boundedXML hands on tokens as long as they keep to the bounds.
type boundedXML struct {
	raw   *xml.Decoder
	depth int
}

// Token gives the next token.
func (b *boundedXML) Token() (xml.Token, error) {
	token, err := b.raw.RawToken()
	switch token := token.(type) {
	case xml.StartElement:
		if b.depth++; b.depth > maxDepth {
			return nil, unreadable("elements are nested more than %d deep", maxDepth)
		}
		if err := attributesError(token); err != nil {
			return nil, err
		}
	case xml.EndElement:
		b.depth--
	}
	return token, err
}

func attributesError(e xml.StartElement) error {
	for i, a := range e.Attr {
		for _, b := range e.Attr[:i] {
			if a.Name == b.Name {
				return unreadable("<%s> has the attribute %s twice", e.Name.Local, a.Name.Local)
			}
		}
	}
	return nil
}

// reading turns the parsed file into values and keeps the first thing that is wrong.
type reading struct {
	zone     *time.Location
	err      error
	warnings []string
}

func (r *reading) fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
	}
}

func (r *reading) id(text string) uuid.UUID {
	id, err := parseID(text)
	r.fail(err)
	return id
}

func (r *reading) time(name, text string) time.Time {
	t, err := parseTimeIn(text, r.zone)
	switch {
	case err != nil:
		r.fail(unreadable("%s: %s", name, err))
	case !hasZone(text):
		r.warnings = append(r.warnings, fmt.Sprintf("%s=%q has no zone, such as Z or +09:00; it is taken for %s",
			name, cut(text), cmp.Or(r.zone.String(), t.Format("-07:00"))))
	}
	return t
}

func (r *reading) number(name, text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		r.fail(unreadable("%s=%q is not a whole number", name, cut(text)))
	}
	return n
}

func (r *reading) unsigned(name, text string) uint32 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		r.fail(unreadable("%s=%q is not a whole number from 0 to 4294967295", name, cut(text)))
	}
	return uint32(n)
}

func (r *reading) decimal(name, text string) float64 {
	if text == "" {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail(unreadable("%s=%q is not a number", name, cut(text)))
	}
	return f + 0 // no -0: where 0 is left out, it would not be read back
}

// given reads a value of which it matters whether it was given.
func given[T any](r *reading, read func(r *reading, name, text string) T, name string, text *string) *T {
	if text == nil {
		return nil
	}
	v := read(r, name, *text)
	return &v
}
