package story_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// What the model goes on with is told: the line that is not done, a text that has just begun, and nothing after a whole
// sentence or for an idea, whatever the wrapping puts in front of it.
func TestSuffix(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request story.Request
		want    string
	}{
		"an open line":         {story.Request{Body: "一。\n二。\n三。\n四。\n五は"}, "五は"},
		"a whole sentence":     {story.Request{Body: "一。\n二。\n三。\n四。"}, ""},
		"a text just begun":    {story.Request{Body: "一。\n二"}, "一。\n二"},
		"no text":              {story.Request{}, ""},
		"an idea":              {story.Request{Mode: story.Idea, Body: "一。\n二"}, ""},
		"at the cursor":        {story.Request{Mode: story.Autocomplete, Body: "一。\n二。\n三。\n四。\n　五は、"}, "　五は、"},
		"a line at the cursor": {story.Request{Mode: story.Autocomplete, Body: "一。\n二。\n三。\n四。\n"}, ""},
	} {
		for _, wrapping := range []string{"mistral", "chatml", "raw"} {
			r := test.request
			r.Wrapping.Name = wrapping
			p := build(t, runesOf(4096), r)
			runes := []rune(p.Text)
			if got := string(runes[len(runes)-p.Suffix:]); got != test.want {
				t.Errorf("%s, %s: the suffix of %q is %q, not %q", name, wrapping, p.Text, got, test.want)
			}
		}
	}
	cut := build(t, runesOf(600), story.Request{Body: body40(3), MaxTokens: 480})
	_, want, _ := strings.Cut(cut.Text, "[/INST]")
	if cut.Cut == nil || want == "" || cut.Suffix != len([]rune(want)) {
		t.Errorf("after a cut the suffix of %q has %d characters", cut.Text, cut.Suffix)
	}
}
