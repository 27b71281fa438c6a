package format

import (
	"bytes"
	"strings"
	"time"

	"github.com/google/uuid"
)

// IndexHeader is the first line of nodes/index.tsv and flows/index.tsv (seed 004, 4.3 and 5.2).
const IndexHeader = "relpath\tuuid\ttimestamp\n"

// Row is a line of an index: which file holds what. Time is when a node was made, or a flow last changed.
type Row struct {
	Path string
	ID   uuid.UUID
	Time time.Time
}

// AppendRow appends a row to an index.
func AppendRow(dst []byte, r Row) []byte {
	dst = append(dst, r.Path...)
	dst = append(dst, '\t')
	dst = appendID(dst, r.ID)
	dst = append(dst, '\t')
	dst = appendTime(dst, r.Time)
	return append(dst, '\n')
}

// ReadIndex gives all rows of an index in their order. Rows are appended: a caller that asks for a path takes the last row of it.
// sound is false where lines could not be read (torn by a power cut, marked by a merge, edited): they are left out, and the
// index needs to be made anew. An index is derived from the files, so it is never a reason to fail.
//
// Rows do not hold on to data: their paths share one text of their own.
func (k Kind) ReadIndex(data []byte) (rows []Row, sound bool) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	header := []byte(strings.TrimSuffix(IndexHeader, "\n"))
	sound = bytes.HasPrefix(data, header) && bytes.HasSuffix(data, []byte("\n"))
	rows = make([]Row, 0, bytes.Count(data, []byte("\n")))
	var paths []byte
	ends := make([]int, 0, cap(rows))
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 || bytes.Equal(line, header) {
			continue
		}
		path, row, ok := k.parseRow(line)
		if !ok {
			sound = false
			continue
		}
		rows = append(rows, row)
		paths = append(paths, path...)
		ends = append(ends, len(paths))
	}
	all, start := string(paths), 0
	for i, end := range ends {
		rows[i].Path = all[start:end]
		start = end
	}
	return rows, sound
}

// parseRow reads a line; the row has no path yet.
func (k Kind) parseRow(line []byte) (path []byte, r Row, ok bool) {
	path, rest, _ := bytes.Cut(line, []byte("\t"))
	id, stamp, _ := bytes.Cut(rest, []byte("\t"))
	if _, ours := k.ParseName(string(path)); !ours || len(id) != 36 {
		return nil, r, false
	}
	var err error
	if r.ID, err = uuid.ParseBytes(id); err != nil || r.ID == (uuid.UUID{}) {
		return nil, r, false
	}
	if r.Time, ok = canonicalTime(string(stamp)); !ok {
		r.Time, err = parseTime(string(stamp))
	}
	return path, r, err == nil
}
