package transcript

import (
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// Flow gives a flow: its name and story, then a line for each node and each connection. What is wrong with its file is
// said at the end. The same flow gives the same text.
func Flow(f flow.Flow) []byte {
	p := &page{}
	p.line("flow", f.ID.String())
	p.line("name", f.Name)
	p.line("created", stamp(f.Created))
	p.line("updated", stamp(f.Updated))
	if f.Description != "" {
		p.section("description", f.Description)
	}
	p.story(f.Story)
	p.members(f)
	if len(f.Problems) > 0 {
		p.section("problems", strings.Join(f.Problems, "\n"))
	}
	return p.Bytes()
}

func (p *page) story(s flow.Story) {
	for _, t := range []struct {
		name string
		text *string
	}{
		{"title", s.Title}, {"keywords", joined(s.Keywords)}, {"genres", joined(s.Genres)}, {"synopsis", s.Synopsis}, {"setting", s.Setting},
		{"plot", s.Plot}, {"note", s.Note}, {"dialogue level", s.DialogueLevel}, {"rating", s.Rating},
	} {
		if t.text != nil {
			p.section(t.name, *t.text)
		}
	}
}

// joined gives a list as one text, nil for an empty one.
func joined(items []string) *string {
	if len(items) == 0 {
		return nil
	}
	text := strings.Join(items, ", ")
	return &text
}

func (p *page) members(f flow.Flow) {
	if len(f.Members) > 0 {
		fmt.Fprintf(p, "\n--- nodes ---\n")
	}
	for _, m := range f.Members {
		here := ""
		if m.Index == f.Current {
			here = "  <- current"
		}
		fmt.Fprintf(p, "%d: %s%s\n", m.Index, m.Node, here)
	}
	if len(f.Edges) > 0 {
		fmt.Fprintf(p, "\n--- connections ---\n")
	}
	for _, e := range f.Edges {
		name := ""
		if e.Name != "" {
			name = "  " + e.Name
		}
		fmt.Fprintf(p, "%d -> %d%s\n", e.From, e.To, name)
	}
	if len(f.Heads)+len(f.Links) > 0 {
		fmt.Fprintf(p, "\n--- branches and links ---\n")
	}
	for _, h := range f.Heads {
		fmt.Fprintf(p, "%d: %s\n", h.Index, h.Name)
	}
	for _, l := range f.Links {
		fmt.Fprintf(p, "%d -> %s\n", l.From, flow.Name(l.Flow))
	}
}
