// Package passage makes texts of others fit to stand in a prompt: cleaned, cut between characters as a reader sees them,
// escaped, and framed so that nothing in them closes the frame (field/systemprompt-rules.md 0). Pure.
package passage

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BOM is what some editors put before a text.
const BOM = "\ufeff"

// Cleaned is a text and what Body did to it.
type Cleaned struct {
	Text string
	// Invalid are runs of bytes that were no UTF-8, each of which is U+FFFD now; Controls are characters that are gone.
	Invalid, Controls int
	// BOM says that one stood before the text.
	BOM bool
}

// Changes says what was done to a text, but for ends of lines and what is blank at its ends; empty where that is nothing.
func (c Cleaned) Changes() string {
	var all []string
	for _, change := range []struct {
		n    int
		what string
	}{
		{c.Invalid, "places with bytes that are no UTF-8 became U+FFFD"}, {c.Controls, "control or tag characters are gone"},
	} {
		if change.n > 0 {
			all = append(all, strconv.Itoa(change.n)+" "+change.what)
		}
	}
	if c.BOM {
		all = append(all, "a byte order mark is gone")
	}
	return strings.Join(all, ", ")
}

// Body cleans a text of several lines: what is no UTF-8 becomes U+FFFD, a BOM before it goes, ends of lines become LF,
// control characters but TAB and LF and the tag characters go, and so do LFs before it and blanks behind it. Nothing else
// changes.
func Body(s string) Cleaned {
	c := Piece(s)
	c.Text = strings.TrimRight(strings.TrimLeft(c.Text, "\n"), " \t\n")
	return c
}

// Piece is Body for a text that others join: what is blank at its ends stays.
func Piece(s string) Cleaned {
	var c Cleaned
	s, c.Invalid = valid(s)
	s, c.BOM = strings.CutPrefix(s, BOM)
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	c.Text = strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0xe0000 && r <= 0xe007f {
			c.Controls++
			return -1
		}
		return r
	}, s)
	return c
}

// valid puts U+FFFD in place of each run of bytes that are no UTF-8.
func valid(s string) (text string, runs int) {
	if utf8.ValidString(s) {
		return s, 0
	}
	bad := false
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if now := r == utf8.RuneError && size == 1; now != bad {
			bad = now
			if now {
				runs++
			}
		}
	}
	return strings.ToValidUTF8(s, "\ufffd"), runs
}

// Line cleans a text of one line: it is a Body whose other controls and format characters go, but for the joiners; what is
// blank in it, ends of lines too, is one space.
func Line(s string) string { return oneLine(s, true) }

// Name cleans a path, host, id or model: it is a Line without joiners.
func Name(s string) string { return oneLine(s, false) }

func oneLine(s string, joiners bool) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || joiners && (r == 0x200c || r == 0x200d):
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, Body(s).Text)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\n' || r == 0x2028 || r == 0x2029
	}), " ")
}

var (
	escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	quoter  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)

// XML escapes a text that stands between tags.
func XML(s string) string { return escaper.Replace(s) }

// Attr escapes a text that stands in the quotes of an attribute.
func Attr(s string) string { return quoter.Replace(s) }
