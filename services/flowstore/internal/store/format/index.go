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
	dst = append(dst, r.ID.String()...)
	dst = append(dst, '\t')
	dst = r.Time.AppendFormat(dst, timeLayout)
	return append(dst, '\n')
}

// ReadIndex gives the rows of an index in their order; of several with one path the last counts. sound is false where
// lines could not be read (torn by a power cut, marked by a merge, edited): they are left out, and the index needs to be
// made anew. An index is derived from the files, so it is never a reason to fail.
func (k Kind) ReadIndex(data []byte) (rows []Row, sound bool) {
	text := string(bytes.TrimPrefix(data, byteOrderMark))
	rows = make([]Row, 0, strings.Count(text, "\n"))
	sound = strings.HasPrefix(text, strings.TrimSuffix(IndexHeader, "\n")) && strings.HasSuffix(text, "\n")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line+"\n" == IndexHeader || line == "" {
			continue
		}
		row, ok := k.parseRow(line)
		if !ok {
			sound = false
			continue
		}
		rows = append(rows, row)
	}
	return rows, sound
}

func (k Kind) parseRow(line string) (Row, bool) {
	path, rest, _ := strings.Cut(line, "\t")
	id, stamp, _ := strings.Cut(rest, "\t")
	if _, ours := k.ParseName(path); !ours {
		return Row{}, false
	}
	parsed, err := parseID(id)
	if err != nil {
		return Row{}, false
	}
	t, err := parseTime(stamp)
	return Row{Path: path, ID: parsed, Time: t}, err == nil
}
