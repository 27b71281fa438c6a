package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

const (
	line1 = "000/000.xml\t0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\t2025-05-09T06:48:06.533720+09:00\n"
	line2 = "000/001.xml\t0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b\t2025-05-09T06:48:06.000000+00:00\n"
)

var (
	row1 = format.Row{Path: "000/000.xml", ID: id1, Time: noon}
	row2 = format.Row{Path: "000/001.xml", ID: id2, Time: time.Date(2025, 5, 9, 6, 48, 6, 0, time.UTC)}
)

func TestAppendRow(t *testing.T) {
	t.Parallel()
	got := format.AppendRow(format.AppendRow([]byte(format.IndexHeader), row1), row2)
	if diff := cmp.Diff(format.IndexHeader+line1+line2, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestReadIndex(t *testing.T) {
	t.Parallel()
	both := []format.Row{row1, row2}
	cases := map[string]struct {
		data  string
		rows  []format.Row
		sound bool
	}{
		"rows":                     {format.IndexHeader + line1 + line2, both, true},
		"none":                     {format.IndexHeader, []format.Row{}, true},
		"nothing":                  {"", []format.Row{}, false},
		"byte order mark, CRLF":    {"\ufeff" + strings.ReplaceAll(format.IndexHeader+line1+line2, "\n", "\r\n"), both, true},
		"merged: header twice":     {format.IndexHeader + line1 + format.IndexHeader + line2, both, true},
		"a path twice":             {format.IndexHeader + line1 + line1, []format.Row{row1, row1}, true},
		"no header":                {line1 + line2, both, false},
		"torn":                     {format.IndexHeader + line1 + "000/009.xml\t0190", both[:1], false},
		"torn behind the last row": {format.IndexHeader + strings.TrimSuffix(line1, "\n"), both[:1], false},
		"conflict":                 {format.IndexHeader + "<<<<<<< HEAD\n" + line1 + "=======\n" + line2 + ">>>>>>> b\n", both, false},
		"zeros":                    {format.IndexHeader + line1 + strings.Repeat("\x00", 20) + "\n" + line2, both, false},
		"a column more":            {format.IndexHeader + strings.TrimSuffix(line1, "\n") + "\tx\n" + line2, both[1:], false},
		"outside":                  {format.IndexHeader + "../../x.xml" + line1[11:] + line2, both[1:], false},
		"no id":                    {format.IndexHeader + "000/000.xml\tx\t2025-05-09T06:48:06.533720+09:00\n", []format.Row{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, sound := format.Nodes.ReadIndex([]byte(c.data))
			if diff := cmp.Diff(c.rows, rows, sameTime); diff != "" {
				t.Error(diff)
			}
			if sound != c.sound {
				t.Errorf("sound is %v", sound)
			}
		})
	}
}

// Times as they are written, and as they are read (field/flowstore.md rows 11 and 17).
func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2025-05-09T06:48:06.533720+09:00":    "2025-05-09T06:48:06.533720+09:00",
		"2025-05-09T06:48:06+09:00":           "2025-05-09T06:48:06.000000+09:00",
		"2025-05-09T06:48:06.5Z":              "2025-05-09T06:48:06.500000+00:00",
		"2025-05-09T06:48:06.123456789-03:30": "2025-05-09T06:48:06.123456-03:30",
		"2025-05-09 06:48:06+09:00":           "2025-05-09T06:48:06.000000+09:00",
		"2025-05-09T06:48:06":                 "2025-05-09T06:48:06.000000+00:00",
		"2025-05-09T06:48:06.25":              "2025-05-09T06:48:06.250000+00:00",
		"2025-05-09":                          "",
		"yesterday":                           "",
		"":                                    "",
		"2025-13-01T00:00:00Z":                "",
	} {
		data := format.IndexHeader + strings.Replace(line1, "2025-05-09T06:48:06.533720+09:00", text, 1)
		rows, sound := format.Nodes.ReadIndex([]byte(data))
		switch {
		case want == "" && sound:
			t.Errorf("%q was taken for a time: %v", text, rows)
		case want != "" && (!sound || !strings.HasSuffix(string(format.AppendRow(nil, rows[0])), "\t"+want+"\n")):
			t.Errorf("%q: %v, %v", text, rows, sound)
		}
		n, err := format.DecodeNode([]byte(strings.Replace(string(format.EncodeNode(person())), "2025-05-09T06:48:06.533720+09:00", text, 1)))
		zoneless := want != "" && !strings.ContainsAny(text[len(text)-len("+09:00"):], "Z+-")
		if (err == nil) != (want != "") || (len(n.Warnings) == 1) != zoneless || n.Created.Nanosecond()%1000 != 0 {
			t.Errorf("%q in a node: %v, %q", text, err, n.Warnings)
		}
	}
}
