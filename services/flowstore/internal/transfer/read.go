package transfer

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Read reads a file: JSON, or a ZIP archive with files of it. each gets the conversations and failures in the order of the file
// (of an archive: by name), and ends the reading with its error. *FormatError where the file is neither; an error of r as
// it is.
func Read(r io.Reader, format Format, each func(Entry) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(head, []byte("PK")) {
		return readArchive(in, format, each)
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3) // they were peeked at
	}
	begin, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return &FormatError{"it is empty"}
	case err != nil:
		return err
	case begin != '{' && begin != '[':
		return &FormatError{"it is neither JSON, which begins with { or [, nor a ZIP archive"}
	}
	limited := &bounded{in: in, left: MaxFile, err: &tear{MaxFile, "the file is longer than is read"}}
	return (&reader{format: format, each: each}).read(limited)
}

// firstByte gives the first byte that is no white space, and leaves it there.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, in.UnreadByte()
		}
	}
}

func readArchive(in io.Reader, format Format, each func(Entry) error) error {
	raw, err := io.ReadAll(io.LimitReader(in, MaxArchive+1))
	switch {
	case err != nil:
		return err
	case len(raw) > MaxArchive:
		return &FormatError{fmt.Sprintf("the archive is longer than %d MiB; unpack it, and import its conversations*.json", MaxArchive>>20)}
	case bytes.Count(raw, []byte("PK\x01\x02")) > MaxEntries: // the mark before each entry of the archive's list
		return &FormatError{fmt.Sprintf("the archive holds more than %d files; unpack it, and import its conversations*.json", MaxEntries)}
	}
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return &FormatError{"the ZIP archive is broken: " + err.Error()}
	}
	var files []*zip.File
	for _, f := range archive.File {
		if !f.FileInfo().IsDir() {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b *zip.File) int { return cmp.Compare(a.Name, b.Name) })
	wanted := holding(files)
	for _, f := range files {
		if !wanted(f.Name) {
			if err := each(Entry{File: f.Name, Ignored: true}); err != nil {
				return err
			}
			continue
		}
		if err := readEntry(f, format, each); err != nil {
			return err
		}
	}
	return nil
}

// holding says which files of an archive hold conversations: conversations.json, conversations-000.json and so on, or all JSON where
// none is called so.
func holding(files []*zip.File) func(name string) bool {
	named := func(name string) bool {
		base := strings.ToLower(path.Base(name))
		return strings.HasPrefix(base, "conversations") && strings.HasSuffix(base, ".json")
	}
	if slices.ContainsFunc(files, func(f *zip.File) bool { return named(f.Name) }) {
		return named
	}
	return func(name string) bool {
		ext := strings.ToLower(path.Ext(name))
		return ext == ".json" || ext == ".jsonl" || ext == ".ndjson"
	}
}

// readEntry reads one file of an archive. What is wrong with it is a failure of its own: the archive is here, and no reader
// of the caller's is asked any more.
func readEntry(f *zip.File, format Format, each func(Entry) error) error {
	failed := func(err error) error { return each(Entry{File: f.Name, Err: err}) }
	if f.Flags&1 != 0 {
		return failed(errors.New("the file is encrypted"))
	}
	in, err := f.Open()
	if err != nil {
		return failed(fmt.Errorf("the file cannot be unpacked: %w", err))
	}
	defer in.Close()
	most := int64(min(f.CompressedSize64, MaxArchive))*MaxRatio + 1<<20
	r := &reader{file: f.Name, format: format, each: each}
	err = r.read(&bounded{in: in, left: most, err: &tear{most, fmt.Sprintf("the file unpacks to more than %d times its size", MaxRatio)}})
	if err != nil && r.own == nil {
		return failed(fmt.Errorf("the file cannot be unpacked: %w", err))
	}
	return r.own
}

// reader reads the values of one file.
type reader struct {
	file   string
	format Format
	each   func(Entry) error
	// own is the error of each: not one of the file.
	own error
	// parts is what of our own export waits for its flow.
	parts parts
	n     int
}

func (r *reader) read(in io.Reader) error {
	v := newValues(in)
	for {
		raw, err := v.next()
		var torn *tear
		switch {
		case errors.Is(err, io.EOF):
			return r.finish()
		case errors.As(err, &torn):
			if err := r.give(Entry{Err: err}); err != nil {
				return err
			}
			return r.finish()
		case err != nil && !errors.Is(err, errLong):
			return err
		}
		r.n++
		if err := r.take(raw, err); err != nil {
			return err
		}
	}
}

func (r *reader) give(e Entry) error {
	e.File = r.file
	r.own = r.each(e)
	return r.own
}

// sniffed is what shows whose a conversation is, and which.
type sniffed struct {
	ID             any     `json:"id"`
	ConversationID any     `json:"conversation_id"`
	UUID           any     `json:"uuid"`
	Mapping        present `json:"mapping"`
	ChatMessages   present `json:"chat_messages"`
	Tsumugi        present `json:"tsumugi"`
	Node           present `json:"node"`
	Flow           present `json:"flow"`
	Problem        present `json:"problem"`
	End            present `json:"end"`
}

// present says that a key is there and not null. The value is not copied: it may be most of a large conversation.
type present bool

// UnmarshalJSON looks at the value.
func (p *present) UnmarshalJSON(raw []byte) error {
	*p = string(raw) != "null"
	return nil
}

// name is the id of a conversation, or its number in the file.
func (s sniffed) name(n int) string {
	for _, id := range []any{s.ConversationID, s.ID, s.UUID} {
		if text, ok := id.(string); ok && text != "" {
			return text
		}
	}
	return fmt.Sprintf("conversation %d of the file", n)
}

func (s sniffed) format() Format {
	switch {
	case bool(s.Mapping):
		return ChatGPT
	case bool(s.ChatMessages):
		return Claude
	case bool(s.Tsumugi || s.Node || s.Flow || s.Problem || s.End):
		return Tsumugi
	}
	return Any
}

// take reads one value.
func (r *reader) take(raw []byte, err error) error {
	var s sniffed
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	e := Entry{ID: s.name(r.n)}
	if err == nil {
		err = r.expect(s)
	}
	if err != nil {
		e.Err = err
		return r.give(e)
	}
	if s.format() == Tsumugi {
		return r.takeOwn(raw, e)
	}
	var c conversation
	if s.format() == ChatGPT {
		c, err = readChatGPT(raw)
	} else {
		c, err = readClaude(raw)
	}
	if err == nil {
		if !utf8.Valid(raw) {
			c.left["bytes that are no UTF-8, read as U+FFFD"]++
		}
		if n := halves(raw); n > 0 {
			c.left["half a character, read as U+FFFD"] += n
		}
		e.Bundle, err = arrange(c)
	}
	e.Err = err
	return r.give(e)
}

// halves counts the escapes \ud800 to \udfff that stand without their other half: encoding/json reads them as U+FFFD without a word.
func halves(raw []byte) (n int) {
	unit := func(at int) rune { // the escape at a place; 0 for none
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0
		}
		u, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		if err != nil {
			return 0
		}
		return rune(u)
	}
	for at := 0; at < len(raw); at++ {
		if raw[at] != '\\' {
			continue
		}
		switch u := unit(at); {
		case !utf16.IsSurrogate(u):
			at++
		case utf16.DecodeRune(u, unit(at+6)) != utf8.RuneError:
			at += 11
		default:
			at += 5
			n++
		}
	}
	return n
}

// expect refuses a value of another format than the one that was asked for.
func (r *reader) expect(s sniffed) error {
	got := s.format()
	switch {
	case got == r.format && got != Any, r.format == Any && got != Any:
		return nil
	case r.format == ChatGPT:
		return errors.New("it is no conversation of ChatGPT: it has no `mapping`")
	case r.format == Claude:
		return errors.New("it is no conversation of Claude: it has no `chat_messages`")
	case r.format == Tsumugi:
		return errors.New("it is no line of our export: it has none of `tsumugi`, `node`, `flow`, `problem`, `end`")
	}
	return errors.New("it is no conversation that can be read: it has neither `mapping`, as those of ChatGPT have, nor `chat_messages`, as those of Claude have")
}
