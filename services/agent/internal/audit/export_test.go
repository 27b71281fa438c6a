package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// TestLinesOfAnExport: a line that is none of an export is told with its number, what it must be and how it begins, in words and not those of a decoder.
func TestLinesOfAnExport(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, heads := chain(t, k, "s1", six...)
	whole := string(export(t, heads[len(heads)-1], rows))
	lines := strings.SplitAfter(whole, "\n")
	const head, row = `the head with which an export of an audit begins, {"tsumugi_audit":1,…}, and `, "a row of an audit as it was exported, and "
	for name, tt := range map[string]struct {
		text, want string
	}{
		"a text":                {"港\x1b[31m\nx", "line 1 must be " + head + `is no JSON: it begins with "港\x1b[31m"`},
		"a row":                 {lines[1], "line 1 must be " + head + `is something else: it begins with ` + fmt.Sprintf("%.40q", lines[1])},
		"a list":                {"[1]\n", "line 1 must be " + head + `is something else: it begins with "[1]"`},
		"blank":                 {"\n", "line 1 must be " + head + "is empty"},
		"a head that is cut":    {lines[0][:30], "line 1 must be " + head + `is cut off: it begins with ` + fmt.Sprintf("%.40q", lines[0][:30])},
		"a head with a blank":   {" " + whole, "line 1 must be " + head + "is not as it was exported"},
		"a blank line":          {lines[0] + "\n" + lines[1], "line 2 must be " + row + "is empty"},
		"a text behind":         {whole + "the end\n", fmt.Sprintf("line %d must be %s", len(rows)+2, row) + `is no JSON: it begins with "the end"`},
		"the head twice":        {lines[0] + whole, "line 2 must be " + row + "is something else: it begins with " + fmt.Sprintf("%.40q", lines[0])},
		"a row that is cut":     {lines[0] + lines[1] + lines[2][:50], "line 3 must be " + row + "is cut off: it begins with " + fmt.Sprintf("%.40q", lines[2])},
		"a line that is longer": {lines[0] + strings.Repeat("x", audit.MaxLine+1), "line 2 must be " + row + "is longer than 1048576 bytes"},
	} {
		_, all, err := audit.Import(bytes.NewReader([]byte(tt.text)))
		if err == nil {
			for _, e := range all {
				err = e
			}
		}
		var line *audit.LineError
		if !errors.As(err, &line) || err.Error() != tt.want {
			t.Errorf("%s\ngot  %v\nwant %s", name, err, tt.want)
		}
	}
}
