package sysprompt

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

const (
	maxDescription   = 1024
	leastDescription = 120
	maxListed        = 150

	skillsOpen  = "<available_skills>"
	skillsClose = "</available_skills>"
)

// SkillReport is what became of a skill that is not printed as it is.
type SkillReport struct {
	Name string
	// What is shortened, dropped, shadowed, Refused, Guessed or NotEligible; Why a sentence.
	What, Why string
}

// What is found when skills are read, and stays in a snapshot of them.
const (
	Refused     = "refused"
	Guessed     = "guessed"
	NotEligible = "not_eligible"
)

// listed is a skill as it is printed.
type listed struct {
	Skill
	name, location, description string // cleaned, not escaped
}

// entry is the five lines of a skill whose description has at most n characters.
func (l listed) entry(n int) string {
	return "  <skill>\n    <name>" + passage.XML(l.name) + "</name>\n    <description>" + passage.XML(middle(l.description, n)) +
		"</description>\n    <location>" + passage.XML(l.location) + "</location>\n  </skill>\n"
}

// middle takes out of the middle of a text what it has over n characters: words that call for a skill stand at its end.
func middle(s string, n int) string {
	if characters(s) <= n {
		return s
	}
	head := (2*(n-1) + 2) / 3
	return passage.Characters.Head(s, head) + passage.Ellipsis + passage.Characters.Tail(s, n-1-head)
}

// catalogue is the list of skills of a prompt.
type catalogue struct {
	skills  []listed // by name, then location
	length  int      // the most characters of a description
	dropped int
	reports []SkillReport
}

// list chooses the skills that are listed within most characters.
func list(skills []Skill, most int) catalogue {
	var c catalogue
	all := c.first(skills)
	fits := func(kept []listed, n int) bool {
		if len(kept) > maxListed {
			return false
		}
		size := len(skillsOpen) + 1 + len(skillsClose)
		for _, l := range kept {
			size += characters(l.entry(n))
		}
		return size <= most
	}
	c.length = maxDescription
	if !fits(all, maxDescription) {
		all = c.drop(all, func(kept []listed) bool { return fits(kept, leastDescription) })
		low, high := leastDescription, maxDescription
		for low < high {
			if mid := (low + high + 1) / 2; fits(all, mid) {
				low = mid
			} else {
				high = mid - 1
			}
		}
		c.length = low
	}
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.location, b.location))
	})
	for _, l := range all {
		if n := characters(l.description); n > c.length {
			c.reports = append(c.reports, SkillReport{l.Name, "shortened", "its description has " + strconv.Itoa(n) + " characters, of which " + strconv.Itoa(c.length) + " are printed"})
		}
	}
	c.skills = all
	return c
}

// first takes the first skill of each name.
func (c *catalogue) first(skills []Skill) []listed {
	var all []listed
	at := map[string]string{}
	for _, s := range skills {
		l := listed{s, passage.Line(s.Name), passage.Name(s.Location), passage.Line(s.Description)}
		if location, taken := at[l.name]; taken {
			c.reports = append(c.reports, SkillReport{s.Name, "shadowed", "the one at " + location + " comes first; this one is at " + l.location})
			continue
		}
		at[l.name] = l.location
		all = append(all, l)
	}
	return all
}

// drop takes away skills until the others fit: those of the lowest priority first, and among them the last by name.
func (c *catalogue) drop(all []listed, fits func([]listed) bool) []listed {
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.name, b.name), strings.Compare(a.location, b.location))
	})
	low, high := 0, len(all)
	for low < high { // the most that fit
		if mid := (low + high + 1) / 2; fits(all[:mid]) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	for _, l := range all[low:] {
		c.reports = append(c.reports, SkillReport{l.Name, "dropped", "there is no room for it"})
	}
	c.dropped = len(all) - low
	return all[:low]
}

func (d *Draft) skills() Given {
	if len(d.found) == 0 {
		return Given{LeftOut: NotSent}
	}
	if !d.hasTool(d.ReaderTool) {
		return Given{LeftOut: NoReaderTool}
	}
	c := list(d.found, d.SkillsMax)
	if len(c.skills) == 0 {
		return Given{LeftOut: Empty, skills: c.reports}
	}
	var b builder
	b.text.WriteString(skillsOpen)
	for _, l := range c.skills {
		b.part("\n", l.Name, strings.TrimSuffix(l.entry(c.length), "\n"))
	}
	b.text.WriteString("\n" + skillsClose + "\n\n")
	if c.dropped > 0 {
		b.text.WriteString("Skills not listed for lack of room: " + strconv.Itoa(c.dropped) + "\n\n")
	}
	b.text.WriteString("When you need to use a skill, use the `" + d.ReaderTool + "` tool to load the SKILL.md at the listed location.")
	g := b.given()
	g.skills = c.reports
	return g
}
