package story

import (
	"fmt"
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
