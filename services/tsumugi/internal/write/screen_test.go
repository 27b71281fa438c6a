package write

import (
	"strings"
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// TestAHalfIsNoWhole: what is stored of an answer that was cancelled is not told as stored and done with.
func TestAHalfIsNoWhole(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &screen{session: &session{Options: Options{Out: &out}}}
	c.show(&round{shape: three, total: 2, answers: []*answer{
		{node: "nodes/a", known: true, whole: true, text: "雨。", opened: &agentv1.Opened{Branch: "雨"}}, {node: "nodes/b", known: true, text: "、私は"},
	}})
	for _, want := range []string{"[1/2] 雨 保存済みです stored already: nodes/a", "as far as it was stopped: nodes/b 「、私は」"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}

// TestTheMemoryIsToldShortly: the line where it begins is to be found, not to be read.
func TestTheMemoryIsToldShortly(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"夜。": "夜。", strings.Repeat("夜", 40): strings.Repeat("夜", 40), strings.Repeat("夜", 41): strings.Repeat("夜", 40) + "…"} {
		shown := head(&round{}, 0, &agentv1.Opened{Build: &promptbuilderv1.BuildStoryResponse{Cut: &promptbuilderv1.Cut{FirstKept: line}}}, true)
		if !strings.Contains(shown, "「"+want+"」") {
			t.Errorf("%q is told as %q", line, shown)
		}
	}
}
