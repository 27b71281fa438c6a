package format

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TombstonesHeader is the first line of tombstones.tsv.
const TombstonesHeader = "uuid\trelpath\ttime\treason\n"

// Tombstone says that a node or flow was purged: what its file held is gone, and its id and path are not given again. A
// purge of several files of one id is a row for each.
type Tombstone struct {
	ID   uuid.UUID
	Kind Kind
	// Path is within the folder of the kind, such as `000/003.xml`.
	Path   string
	Time   time.Time
	Reason string
}

// AppendTombstone appends a row. What stands before it must end with a line feed.
func AppendTombstone(dst []byte, t Tombstone) []byte {
	dst = append(appendID(dst, t.ID), '\t')
	dst = append(append(append(append(dst, t.Kind...), '/'), t.Path...), '\t')
	dst = append(appendTime(dst, t.Time), '\t')
	return append(append(dst, onOneLine.Replace(escape(t.Reason))...), '\n')
}

// onOneLine escapes, as escape does, what would end a column or, in some editor, a line.
var onOneLine = strings.NewReplacer("\t", `\u{0009}`, "\n", `\u{000A}`, "\r", `\u{000D}`, "\u0085", `\u{0085}`, "\u2028", `\u{2028}`, "\u2029", `\u{2029}`)

// ReadTombstones gives the rows of a tombstones.tsv in their order; of several with one id and path the first: git
// merges this file line by line, and both sides may have purged the same. problems name each line that is torn, marked by a
// merge or of another form, at most maxProblems of them. Nothing else knows what was purged, so a file with problems needs
// a person and is never made anew. A torn row whose time is whole counts. A file of more than MaxMetadata bytes has no rows.
func ReadTombstones(data []byte) (rows []Tombstone, problems []string) {
	if len(data) > MaxMetadata {
		return nil, []string{fmt.Sprintf("is %d bytes long; the limit is %d", len(data), MaxMetadata)}
	}
	text := strings.TrimPrefix(string(data), string(byteOrderMark))
	type place struct {
		id         uuid.UUID
		kind, path string
	}
	seen := map[place]bool{}
	line := 0
	for row := range strings.Lines(text) {
		line++
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
		}
		row, ends := strings.CutSuffix(row, "\n")
		row = strings.TrimSuffix(row, "\r")
		if row == "" || row+"\n" == TombstonesHeader {
			continue
		}
		t, err := parseTombstone(row)
		if err != nil {
			problem("%s", err)
			continue
		}
		if !ends {
			problem("ends without a line feed; its reason may be cut off")
		}
		at := place{t.ID, string(t.Kind), t.Path}
		if seen[at] {
			continue
		}
		seen[at] = true
		rows = append(rows, t)
	}
	if line > 0 && !strings.HasPrefix(text, strings.TrimSuffix(TombstonesHeader, "\n")) {
		problems = append(problems, fmt.Sprintf("line 1: must be %q", TombstonesHeader))
	}
	return rows, first(problems)
}

func parseTombstone(row string) (t Tombstone, err error) {
	columns := strings.Split(row, "\t")
	if strings.HasPrefix(row, "<<<<<<<") || strings.HasPrefix(row, "=======") || strings.HasPrefix(row, ">>>>>>>") || strings.HasPrefix(row, "|||||||") {
		return t, unreadable("is the mark of a merge; keep the rows of both sides and take the marks away")
	}
	if len(columns) != 4 {
		return t, unreadable("has %d columns; it must have uuid, relpath, time and reason, with tabs between them", len(columns))
	}
	if t.ID, err = parseID(columns[0]); err != nil {
		return t, err
	}
	if t.Time, err = parseTime(columns[2]); err != nil {
		return t, err
	}
	kind, path, _ := strings.Cut(columns[1], "/")
	t.Kind, t.Path, t.Reason = Kind(kind), path, unescape(columns[3])
	if _, ours := t.Kind.ParseName(path); !ours || t.Kind != Nodes && t.Kind != Flows {
		return t, unreadable("%q is no file such as nodes/000/003.xml or flows/000/003.yaml", cut(columns[1]))
	}
	return t, nil
}
