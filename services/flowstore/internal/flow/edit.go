package flow

import (
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// Editable are the parts of a flow that people write, by their names in the contract. A story can be given whole or in part.
func Editable() []string {
	names := make([]string, len(editable))
	for i, e := range editable {
		names[i] = e.name
	}
	return names
}

var editable = []struct {
	name string
	edit func(to *Flow, from Flow)
}{
	{"display_name", func(to *Flow, from Flow) { to.Name = from.Name }},
	{"description", func(to *Flow, from Flow) { to.Description = from.Description }},
	{"heads", func(to *Flow, from Flow) { to.Heads = from.Heads }},
	{"links", func(to *Flow, from Flow) { to.Links = from.Links }},
	{"story", func(to *Flow, from Flow) { to.Story = from.Story }},
	{"story.title", func(to *Flow, from Flow) { to.Story.Title = from.Story.Title }},
	{"story.keywords", func(to *Flow, from Flow) { to.Story.Keywords = from.Story.Keywords }},
	{"story.genres", func(to *Flow, from Flow) { to.Story.Genres = from.Story.Genres }},
	{"story.synopsis", func(to *Flow, from Flow) { to.Story.Synopsis = from.Story.Synopsis }},
	{"story.setting", func(to *Flow, from Flow) { to.Story.Setting = from.Story.Setting }},
	{"story.plot", func(to *Flow, from Flow) { to.Story.Plot = from.Story.Plot }},
	{"story.note", func(to *Flow, from Flow) { to.Story.Note = from.Story.Note }},
	{"story.dialogue_level", func(to *Flow, from Flow) { to.Story.DialogueLevel = from.Story.DialogueLevel }},
	{"story.rating", func(to *Flow, from Flow) { to.Story.Rating = from.Story.Rating }},
}

// Edited gives the flow with the named parts of another one. Names that Editable does not give change nothing.
func (f Flow) Edited(from Flow, names []string) Flow {
	for _, e := range editable {
		if slices.Contains(names, e.name) {
			e.edit(&f, from)
		}
	}
	return f
}

// Rewriting gives the change, without its time, that makes of a flow's words, heads and links those of another one; an empty one
// where they are the same.
func (f Flow) Rewriting(to Flow) (c Change) {
	if to.Name != f.Name {
		c.Name = &to.Name
	}
	if to.Description != f.Description {
		c.Description = &to.Description
	}
	if !to.Story.Same(f.Story) {
		c.Story = &to.Story
	}
	c.Heads = headsTo(f.Heads, to.Heads)
	c.Unlink, c.Link = missingIn(to.Links, f.Links), missingIn(f.Links, to.Links)
	return c
}

// Same says whether two stories say the same. A list without items is the same as none.
func (s Story) Same(other Story) bool {
	mine, theirs := etag.New(), etag.New()
	s.digest(mine)
	other.digest(theirs)
	return mine.String() == theirs.String()
}
