package merge

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func (m *merger) tell(format string, args ...any) {
	m.told = append(m.told, fmt.Sprintf(format, args...))
}

// words merges name, description and story, field by field.
func (m *merger) words() {
	base, ours, theirs := m.base.Flow, m.ours.Flow, m.theirs.Flow
	m.out.Name = m.text("name", base.Name, ours.Name, theirs.Name)
	m.out.Description = m.text("description", base.Description, ours.Description, theirs.Description)
	b, o, t := base.Story, ours.Story, theirs.Story
	m.out.Story = flow.Story{
		Title:         m.given("story.title", b.Title, o.Title, t.Title),
		Keywords:      list(b.Keywords, o.Keywords, t.Keywords),
		Genres:        list(b.Genres, o.Genres, t.Genres),
		Synopsis:      m.given("story.synopsis", b.Synopsis, o.Synopsis, t.Synopsis),
		Setting:       m.given("story.setting", b.Setting, o.Setting, t.Setting),
		Plot:          m.given("story.plot", b.Plot, o.Plot, t.Plot),
		Note:          m.given("story.note", b.Note, o.Note, t.Note),
		DialogueLevel: m.given("story.dialogue_level", b.DialogueLevel, o.DialogueLevel, t.DialogueLevel),
		Rating:        m.given("story.rating", b.Rating, o.Rating, t.Rating),
	}
}

// text gives what one side changed; ours where both did, and tells it.
func (m *merger) text(place, base, ours, theirs string) string {
	return *m.given(place, &base, &ours, &theirs)
}

func (m *merger) given(place string, base, ours, theirs *string) *string {
	switch {
	case same(ours, theirs) || same(theirs, base):
		return ours
	case same(ours, base):
		return theirs
	}
	m.tell("%s: both changed it; %s, of ours, stays, and %s, of theirs, does not", place, shown(ours), shown(theirs))
	return ours
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// shown gives a text for a message, its beginning where it is long.
func shown(text *string) string {
	if text == nil {
		return "none"
	}
	const most = 60
	for i := range *text {
		if i > most {
			return fmt.Sprintf("%q...", (*text)[:i])
		}
	}
	return fmt.Sprintf("%q", *text)
}

// list gives what one side changed; where both did, the items of ours without those that theirs took out, and then those
// that theirs added.
func list(base, ours, theirs []string) []string {
	switch {
	case slices.Equal(ours, base):
		return theirs
	case slices.Equal(theirs, base):
		return ours
	}
	var merged []string
	for _, item := range ours {
		if slices.Contains(theirs, item) || !slices.Contains(base, item) {
			merged = append(merged, item)
		}
	}
	for _, item := range theirs {
		if !slices.Contains(ours, item) && !slices.Contains(base, item) {
			merged = append(merged, item)
		}
	}
	return merged
}

// current gives the reader's place: where the side that moved it put it, ours where both did. A place that is not in the
// result is none.
func (m *merger) current() {
	base, ours, theirs := m.base.currentNode(), m.ours.currentNode(), m.theirs.currentNode()
	places := []uuid.UUID{ours, theirs}
	if ours == base {
		places = []uuid.UUID{theirs, ours}
	} else if theirs != base && theirs != ours {
		m.tell("current: both moved it; node %s, of ours, stays, and node %s, of theirs, does not", ours, theirs)
	}
	m.out.Current = 0
	for i, id := range places {
		if id == uuid.Nil && i == 0 {
			return
		}
		if index, in := m.indexes[id]; in {
			m.out.Current = index
			return
		}
	}
}
