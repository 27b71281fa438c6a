package sysprompt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// cleanings tell what was done to the texts that are printed, one for each section or part of one.
func (d *Draft) cleanings(p Prompt) (all []Diagnostic) {
	tell := func(section, part, changes string) {
		if changes != "" {
			all = append(all, Diagnostic{Code: "text_cleaned", Section: section, Part: part, Message: changes})
		}
	}
	tell(idIdentity, "", passage.Body(cmp.Or(d.Identity, d.Product)).Changes())
	files := map[string][]*page{idFiles: d.files.stable, idChanging: d.files.changing}
	for _, s := range p.Sections {
		if i := slices.IndexFunc(d.Sections, func(c Custom) bool { return c.ID == s.ID }); i >= 0 {
			tell(s.ID, "", changes(word{"", d.Sections[i].Text}, word{"heading", d.Sections[i].Heading}))
			continue
		}
		tell(s.ID, "", changes(d.words(s.ID)...))
		for _, part := range s.Parts {
			tell(s.ID, part.ID, changes(d.wordsOf(s.ID, part.ID)...))
		}
		for _, f := range files[s.ID] {
			tell(s.ID, f.Name, f.changes)
		}
	}
	return all
}

// word is a text of the caller that is printed in a line, and what it is; empty: the whole of a section.
type word struct{ name, text string }

// words are those of a section that is made of values.
func (d *Draft) words(section string) []word {
	switch section {
	case "workspace":
		return []word{{"", d.Workspace}}
	case "sandbox":
		return []word{{"runtime", d.Sandbox.Runtime}, {"path", d.Sandbox.Path}}
	case "reasoning":
		return []word{{"level", d.Reasoning.Level}, {"toggle", d.Reasoning.Toggle}}
	case "runtime":
		r := d.Runtime
		all := []word{{"host", r.Host}, {"os", r.OS}, {"node", r.Node}, {"model", r.Model}, {"repo_root", r.RepoRoot}, {"thinking", r.Thinking}}
		for _, key := range slices.Sorted(maps.Keys(r.Extra)) {
			all = append(all, word{"extra " + passage.Line(key), key + r.Extra[key]})
		}
		return all
	}
	return nil
}

// wordsOf are those of a tool or a skill.
func (d *Draft) wordsOf(section, part string) []word {
	switch section {
	case idTooling:
		i := slices.IndexFunc(d.Tools, func(t Tool) bool { return t.Name == part })
		return []word{{"summary", d.Tools[i].Summary}}
	case idSkills:
		s := d.found[slices.IndexFunc(d.found, func(s Skill) bool { return s.Name == part })]
		return []word{{"name", s.Name}, {"description", s.Description}, {"location", s.Location}}
	}
	return nil
}

// changes says what cleaning does to words, behind the name of each.
func changes(words ...word) string {
	var all []string
	for _, w := range words {
		if what := passage.Body(w.text).Changes(); what != "" {
			if w.name != "" {
				what = w.name + ": " + what
			}
			all = append(all, what)
		}
	}
	return strings.Join(all, "; ")
}
