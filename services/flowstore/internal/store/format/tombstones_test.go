package format_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

const (
	grave1 = "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\tnodes/000/000.xml\t2025-05-09T06:48:06.533720+09:00\task of a person\n"
	grave2 = "0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b\tflows/000/001.yaml\t2025-05-09T06:48:06.533720+09:00\t\n"
)

var (
	tomb1 = format.Tombstone{ID: id1, Kind: format.Nodes, Path: "000/000.xml", Time: noon, Reason: "ask of a person"}
	tomb2 = format.Tombstone{ID: id2, Kind: format.Flows, Path: "000/001.yaml", Time: noon}
)

func TestTombstones(t *testing.T) {
	t.Parallel()
	header := format.TombstonesHeader
	if got := string(format.AppendTombstone(format.AppendTombstone(nil, tomb1), tomb2)); got != grave1+grave2 {
		t.Errorf("%q", got)
	}
	torn := tomb1
	torn.Reason = "ask"
	for name, c := range map[string]struct {
		data     string
		rows     []format.Tombstone
		problems []string
	}{
		"rows":                   {header + grave1 + grave2, []format.Tombstone{tomb1, tomb2}, nil},
		"nothing":                {"", nil, nil},
		"mark, CRLF, an id loud": {"\ufeff" + strings.ReplaceAll(header+strings.Replace(grave1, "0197a1b2", "0197A1B2", 1), "\n", "\r\n"), []format.Tombstone{tomb1}, nil},
		"torn reason":            {header + grave1[:len(grave1)-len(" of a person\n")], []format.Tombstone{torn}, []string{"line 2: ends without a line feed; its reason may be cut off"}},
		"torn row":               {header + grave1 + grave2[:50], []format.Tombstone{tomb1}, []string{"line 3: has 2 columns; it must have uuid, relpath, time and reason, with tabs between them"}},
		"torn time":              {header + grave1[:70], nil, []string{"line 2: has 3 columns; it must have uuid, relpath, time and reason, with tabs between them"}},
		"a row twice":            {header + grave1 + grave2 + strings.Replace(grave1, "ask", "other", 1), []format.Tombstone{tomb1, tomb2}, nil},
		"merged by lines":        {header + grave1 + header + grave2, []format.Tombstone{tomb1, tomb2}, nil},
		"conflict": {header + "<<<<<<< HEAD\n" + grave1 + "=======\n" + grave2 + ">>>>>>> b\n", []format.Tombstone{tomb1, tomb2}, []string{
			"line 2: is the mark of a merge; keep the rows of both sides and take the marks away", "line 4: is the mark of a merge; keep the rows of both sides and take the marks away",
			"line 6: is the mark of a merge; keep the rows of both sides and take the marks away"}},
		"no header":  {grave1, []format.Tombstone{tomb1}, []string{`line 1: must be "uuid\trelpath\ttime\treason\n"`}},
		"no id":      {header + "x" + grave1[36:], nil, []string{`line 2: "x" is not a UUID such as 0192f000-0000-7000-8000-000000000001`}},
		"no time":    {header + grave1[:55] + "now\tx\n", nil, []string{`line 2: "now" is not a time such as 2025-05-09T06:48:06.533720+09:00`}},
		"outside":    {header + strings.Replace(grave1, "nodes/000", "nodes/../..", 1), nil, []string{`line 2: "nodes/../../000.xml" is no file such as nodes/000/003.xml or flows/000/003.yaml`}},
		"other kind": {header + strings.Replace(grave2, "flows", "trees", 1), nil, []string{`line 2: "trees/000/001.yaml" is no file such as nodes/000/003.xml or flows/000/003.yaml`}},
		"zeros":      {header + strings.Repeat("\x00", 20) + "\n" + grave1, []format.Tombstone{tomb1}, []string{"line 2: has 1 columns; it must have uuid, relpath, time and reason, with tabs between them"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, problems := format.ReadTombstones([]byte(c.data))
			if diff := cmp.Diff(c.rows, rows, sameTime); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReasonsOfTombstones(t *testing.T) {
	t.Parallel()
	for _, reason := range append([]string{`a\b`, `\u{0009}`, "a\tb\nc\rd\u0085\u2028\u2029", "\x00\x1b", `\`}, case20...) {
		want := tomb1
		want.Reason = reason
		row := format.AppendTombstone(nil, want)
		if strings.Count(string(row), "\t") != 3 || strings.ContainsAny(string(row[:len(row)-1]), "\n\r\u0085\u2028\u2029") {
			t.Errorf("%q is not one row: %q", reason, row)
		}
		rows, problems := format.ReadTombstones(append([]byte(format.TombstonesHeader), row...))
		if diff := cmp.Diff([]format.Tombstone{want}, rows, sameTime); diff != "" || len(problems) > 0 {
			t.Errorf("%q: %v %s", reason, problems, diff)
		}
	}
}

// FuzzTombstones: no bytes crash the reader, and its rows come back.
func FuzzTombstones(f *testing.F) {
	f.Add([]byte(format.TombstonesHeader + grave1 + grave2))
	f.Add([]byte("\ufeff" + grave1 + "<<<<<<< HEAD\n" + grave1 + grave2[:70]))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, _ := format.ReadTombstones(data)
		written := []byte(format.TombstonesHeader)
		for i, r := range rows {
			rows[i].Reason = strings.ToValidUTF8(r.Reason, "\ufffd")
			written = format.AppendTombstone(written, rows[i])
		}
		again, problems := format.ReadTombstones(written)
		if diff := cmp.Diff(rows, again, sameTime, cmpopts.EquateEmpty()); diff != "" || len(problems) > 0 {
			t.Error(problems, diff)
		}
	})
}

// Two clones that both purge keep the rows of both.
func TestGitMergesTombstonesByLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"nodes/index.tsv merge=union\n", "flows/index.tsv merge=union\n", "tombstones.tsv merge=union\n", "*.tsv text eol=lf\n"} {
		if !slices.Contains(strings.SplitAfter(format.GitAttributes, "\n"), line) {
			t.Errorf("no line %q", line)
		}
	}
}
