package story

// unused tells the fields that a request gives and that change nothing of its prompt; whole is the request with its preset in
// place. What a preset brings in vain is not told: it is made for many requests.
func (r Request) unused(whole Request) []Warning {
	var all []Warning
	add := func(given bool, field, why string) {
		if given {
			all = append(all, Warning{FieldNotUsed, field, field + " is not used: " + why})
		}
	}
	idea := whole.Mode == Idea
	why := "the prompt of an idea has no text that could be cut"
	if !idea {
		why = "only FIT_LINES looks for a place to cut at"
	}
	if idea || !whole.cutsLines() {
		add(r.Slack != nil && *r.Slack > 0, "slack_percent", why)
		add(r.Finest != 0, "cut_granularity", why)
		add(r.State != "", "state", why)
	}
	add(idea && r.TrimTo > 0, "max_main_text_chars", why)
	add(idea && r.Work.DialogueLevel != nil, "story.dialogue_level", "an idea is asked for without it")
	add(r.noteDepth() > 0 && strip(r.Work.Note) == "", "note_depth", "there is no author's note")
	return all
}
