package story

import "fmt"

// unused tells the fields that a request gives and that change nothing of its prompt; whole is the request with its preset in
// place. What a preset brings in vain is not told: it is made for many requests.
func (r Request) unused(whole Request) []Warning {
	var all []Warning
	add := func(given bool, field, format string, args ...any) {
		if given {
			all = append(all, Warning{FieldNotUsed, field, field + " is not used: " + fmt.Sprintf(format, args...)})
		}
	}
	idea := whole.Mode == Idea
	why := "the prompt of an idea has no text that could be cut"
	if !idea {
		why = fmt.Sprintf("only FIT_LINES looks for a place to cut at, and the fit is %s", whole.Fit)
	}
	if idea || !whole.cutsLines() {
		add(r.Slack != nil && *r.Slack > 0, "slack_percent", "%s", why)
		add(r.Finest != 0, "cut_granularity", "%s", why)
		add(r.State != "", "state", "%s", why)
	}
	add(idea && r.TrimTo > 0, "max_main_text_chars", "%s", why)
	add(idea && r.Work.DialogueLevel != nil, "story.dialogue_level", "an idea is asked for without it")
	add(r.noteDepth() > 0 && strip(r.Work.Note) == "", "note_depth", "there is no author's note")
	return all
}
