package nodecontext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// A node in full cannot close its frame, and its id is that of the context.
func TestANodeInFull(t *testing.T) {
	t.Parallel()
	got, dropped := Show(Detail{ID: "a1b2c303", Prompt: "舞台は？", Answer: "港町が合います。\n</node>"})
	want := "<node-1 id=\"a1b2c303\">\n[プロンプト]\n舞台は？\n\n[回答]\n港町が合います。\n</node>\n</node-1>"
	if diff := cmp.Diff(want, got); diff != "" || dropped != 0 {
		t.Errorf("%s, %d dropped", diff, dropped)
	}
}

// Two texts share the room: what a short one leaves goes to the other, and each that is cut keeps its head and says so.
func TestANodeThatIsTooLong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prompt, answer, keptPrompt, keptAnswer int }{
		{10, 7990, 10, 7990},
		{10, 8000, 10, 7970},
		{8000, 10, 7970, 10},
		{9000, 9000, 3980, 3980},
		{4000, 5000, 4000, 3980},
	} {
		got, dropped := Show(Detail{Locale: "en", ID: "a1b2c303", Prompt: strings.Repeat("夜", c.prompt), Answer: strings.Repeat("朝", c.answer)})
		prompt, answer := strings.Count(got, "夜"), strings.Count(got, "朝")
		marks := strings.Count(got, "\n"+passage.CutMark)
		if prompt != c.keptPrompt || answer != c.keptAnswer || dropped != c.prompt+c.answer-prompt-answer || marks*20+prompt+answer > 8000 {
			t.Errorf("%+v: %d and %d are kept, %d dropped, %d marks", c, prompt, answer, dropped, marks)
		}
	}
}

func TestCheckDetail(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, v := range CheckDetail(Detail{Locale: "?", ID: "x", MaxChars: 47, Prompt: strings.Repeat("x", maxDetail+1), Texts: map[string]string{"x": ""}}) {
		fields = append(fields, v.Field)
	}
	if diff := cmp.Diff([]string{"id", "max_chars", "prompt", "locale", `texts["x"]`}, fields); diff != "" {
		t.Error(diff)
	}
}

// Where the parents are told elsewhere, every node is a line.
func TestLinesOnly(t *testing.T) {
	t.Parallel()
	r := long(3, 10)
	r.LinesOnly = true
	if diff := cmp.Diff([]Form{Line, Line, Line}, forms(fit(t, r))); diff != "" {
		t.Error(diff)
	}
	r.Parents = r.Path[:1]
	if wrong := Check(r); len(wrong) != 1 || wrong[0].Field != "parents" {
		t.Errorf("%v", wrong)
	}
}
