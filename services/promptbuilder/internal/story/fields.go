package story

import (
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

// field is a text of a request with its path there.
type field struct {
	name string
	text *string
}

// list is a list of a request with its path there.
type list struct {
	name  string
	items *[]string
}

func (l list) fields() []field {
	all := make([]field, len(*l.items))
	for i := range *l.items {
		all[i] = field{fmt.Sprintf("%s[%d]", l.name, i), &(*l.items)[i]}
	}
	return all
}

func (w *Work) texts() []field {
	return []field{
		{"story.title", &w.Title}, {"story.synopsis", &w.Synopsis}, {"story.setting", &w.Setting},
		{"story.plot", &w.Plot}, {"story.note", &w.Note},
	}
}

func (w *Work) lists() []list {
	return []list{{"story.keywords", &w.Keywords}, {"story.genres", &w.Genres}}
}

// drawn are the fields that dynamic prompts are drawn in, in the order of the picks (seed 000, 2.2).
func (r *Request) drawn() []field {
	all := r.Work.texts()
	for _, l := range r.Work.lists() {
		all = append(all, l.fields()...)
	}
	return append(all, field{"body", &r.Body})
}

// draw puts the picks into a copy of the request.
func (r Request) draw() (drawn Request, picks []Pick, warnings []Warning) {
	r.Work.Keywords, r.Work.Genres = slices.Clone(r.Work.Keywords), slices.Clone(r.Work.Genres)
	for _, f := range r.drawn() {
		template := dynamic.Parse(*f.text)
		if n := template.Nested(); n > 0 {
			warnings = append(warnings, Warning{GroupKept, f.name,
				fmt.Sprintf("%d groups like {A|{B|C}} hold braces themselves and stay as written", n)})
		}
		var some []dynamic.Pick
		*f.text, some = template.Draw(r.Seed, f.name)
		for _, p := range some {
			picks = append(picks, Pick{Field: f.name, Pick: p})
		}
	}
	return r, picks, warnings
}
