package sysprompt

import "testing"

// A heading of which nothing is printable is none: a section of the caller's own stands bare then, another under the heading of its row.
func TestBlankHeadings(t *testing.T) {
	t.Parallel()
	for _, heading := range []string{"", "  ", "\u200b", "\n\x00"} {
		p := build(t, Request{Locale: "en", Sections: []Custom{{ID: "a", Heading: heading, Text: "x"}, {ID: "heartbeats", Heading: heading, Text: "y"}}})
		if want := "You are the AI assistant of Tsumugi.\n\n# Heartbeats\n\ny\n\nx"; p.Text != want {
			t.Errorf("%q: %q", heading, p.Text)
		}
	}
}
