package layers

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// What a text of the request leaves empty is gone with what would part it from the rest, a block as well as a section.
func TestAnEmptiedTextLeavesNoGap(t *testing.T) {
	t.Parallel()
	whole := built(t, full()).System
	for id, section := range map[string]string{"main.state": "", "main.recent": "", "base.safety": "", "dialog_policy": "dialog_policy", "summaries": "summaries", "base": "base"} {
		for _, text := range []string{"", "\n", " \r\n\u0007\n"} {
			r := full()
			r.System.Texts = map[string]string{id: text}
			p := built(t, r).System
			if strings.Contains(p.Text, "\n\n\n") || len(p.Text) >= len(whole.Text) || strings.TrimSpace(p.Text) != p.Text {
				t.Errorf("%s is %q: %s", id, text, p.Text)
			}
			if left := slices.Contains(p.LeftOut, sysprompt.LeftOut{ID: section, Reason: sysprompt.Empty}); section != "" && !left {
				t.Errorf("%s is %q: %v", id, text, p.LeftOut)
			}
		}
	}
}

// A form of the output in a block of YAML ends with a line feed, and the prompt does not.
func TestAPromptEndsWithoutALineFeed(t *testing.T) {
	t.Parallel()
	p := built(t, Request{State: State{Goal: "g"}, System: sysprompt.Request{Texts: map[string]string{"main.output": "Answer in JSON.\n"}}})
	if !strings.HasSuffix(p.System.Text, "\n\nAnswer in JSON.") {
		t.Errorf("%q", p.System.Text)
	}
}
