package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine is the length of the longest line of an export, in bytes: 1 MiB, more than any row has.
const MaxLine = 1 << 20

// header is the first line of an export.
type header struct {
	Version int  `json:"tsumugi_audit"`
	Head    Head `json:"head"`
}

const exportVersion = 1

// Export writes the head and the rows as JSON Lines. What Import reads of it verifies as the rows do; a line that was changed in
// whatever way is not the line that Export writes.
func Export(w io.Writer, head Head, rows iter.Seq2[Row, error]) error {
	line, err := encodeLine(header{exportVersion, head})
	if err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	for r, err := range rows {
		if err != nil {
			return err
		}
		line, err := encodeLine(r)
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func encodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// What a line of an export must be.
const (
	mustHead = `the head with which an export of an audit begins, {"tsumugi_audit":1,…}`
	mustRow  = "a row of an audit as it was exported"
)

var (
	errLong    = fmt.Errorf("is longer than %d bytes", MaxLine)
	errAltered = errors.New("is not as it was exported")
)

// LineError says which line of an export cannot be taken, what it must be and what it is.
type LineError struct {
	// Number counts from 1.
	Number int
	Must   string
	Is     string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d must be %s, and %s", e.Number, e.Must, e.Is)
}

// badLine makes of an error one for whoever has the file.
func badLine(number int, must string, line []byte, err error) error {
	begins := fmt.Sprintf("it begins with %.40q", bytes.TrimSpace(line))
	e := &LineError{Number: number, Must: must, Is: "is something else: " + begins}
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, errLong), errors.Is(err, errAltered):
		e.Is = err.Error()
	case len(bytes.TrimSpace(line)) == 0:
		e.Is = "is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Is = "is cut off: " + begins
	case errors.As(err, &syntax):
		e.Is = "is no JSON: " + begins
	}
	return e
}

// Import reads an export: its head at once, its rows one by one. The rows can be gone through once. An error of theirs, after
// which there is no other row, is a *LineError or that of r; so is that of Import.
func Import(r io.Reader) (Head, iter.Seq2[Row, error], error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	first, err := readLine(lines)
	if err != nil && !errors.Is(err, io.EOF) {
		return Head{}, nil, badRead(1, mustHead, err)
	}
	if len(first) == 0 {
		return Head{}, nil, errors.New("it is empty; it must be what an export of an audit has written")
	}
	var h header
	if err := decodeLine(first, &h); err != nil {
		return Head{}, nil, badLine(1, mustHead, first, err)
	}
	if h.Version != exportVersion {
		return Head{}, nil, fmt.Errorf("this is an export of version %d; version %d can be read", h.Version, exportVersion)
	}
	return h.Head, func(yield func(Row, error) bool) {
		for number := 2; ; number++ {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Row{}, badRead(number, mustRow, err))
				return
			}
			var row Row
			if err := decodeLine(line, &row); err != nil {
				yield(Row{}, badLine(number, mustRow, line, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}, nil
}

// badRead is badLine of a line that was not read: an error of the file itself stays as it is.
func badRead(number int, must string, err error) error {
	if errors.Is(err, errLong) {
		return badLine(number, must, nil, err)
	}
	return fmt.Errorf("line %d: %w", number, err)
}

// readLine gives a line with its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, errLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// decodeLine reads a line, which must be exactly as Export writes it: encoding/json is generous with keys in other cases, keys
// twice and blanks.
func decodeLine(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	again, err := encodeLine(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, line) {
		return errAltered
	}
	return nil
}

// VerifyExport verifies an export by its own head and by those that were kept apart. An export of another session than the one
// that is asked for is refused.
func (k *Keys) VerifyExport(r io.Reader, namespace, session string, apart ...Head) (Report, error) {
	head, rows, err := Import(r)
	if err != nil {
		return Report{}, &BadRow{Fault: Unreadable, Err: err}
	}
	return k.Verify(rows, Chain{Namespace: namespace, Session: session, Heads: append(apart, head)})
}
