package format_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// A summary of other texts than the file holds is stale, whoever edited them: in the written form and in one that a person
// gave it; a later change of something else leaves it so (field/flowstore.md row 24, cases/flowstore.md 35).
func TestFlowstore35AnEditInTheFileMakesTheSummaryStale(t *testing.T) {
	t.Parallel()
	n := node.Node{ID: id1, Created: noon, Texts: []node.Text{{Role: "user", Content: "古い夜"}}}
	n = n.Edited(node.Node{Summary: node.Summary{Text: "夜の話"}}, []string{"summary"}, "", noon)
	file := string(format.EncodeNode(n))
	if got, err := format.DecodeNode([]byte(file)); err != nil || got.Summary.Stale || got.Summary.Source != n.Source() {
		t.Fatalf("%+v, %v\n%s", got.Summary, err, file)
	}
	for name, edit := range map[string]*strings.Replacer{
		"a text":                 strings.NewReplacer("古い夜", "新しい夜"),
		"a role, another form":   strings.NewReplacer(`role="user"`, `role='system'`),
		"a text is added":        strings.NewReplacer("</contents>", "<text role=\"user\"><![CDATA[\nもう一つ\n]]></text>\n</contents>"),
		"a text, CRLF as edited": strings.NewReplacer("古い夜", "新しい夜", "\n", "\r\n"),
	} {
		got, err := format.DecodeNode([]byte(edit.Replace(file)))
		if err != nil || !got.Summary.Stale || got.Summary.Text != "夜の話" {
			t.Errorf("%s: %+v, %v", name, got.Summary, err)
		}
		scored := got
		scored.Note = "よい"
		data, _ := format.UpdateNode([]byte(edit.Replace(file)), scored)
		again, err := format.DecodeNode(data)
		if err != nil || !again.Summary.Stale {
			t.Errorf("%s, and a note: %+v, %v", name, again.Summary, err)
		}
	}
	own := strings.Replace(strings.Replace(file, "古い夜", "新しい夜", 1), ` source="`+n.Source()+`"`, "", 1)
	if got, err := format.DecodeNode([]byte(own)); err != nil || got.Summary.Stale {
		t.Errorf("a summary by hand: %+v, %v", got.Summary, err)
	}
}
