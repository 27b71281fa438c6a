// Package sysprompt makes composed system prompts (seed 003): sections from one table, in the order of how often they
// change, so that a model server keeps what did not; with the places of the cache, digests and a comparison with an earlier
// build. The text is a function of the request and of what its folders hold: no clock, host or order of a map is in it
// (field/systemprompt-rules.md 0 to 2).
package sysprompt

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// Version changes when a rule or a default text changes the bytes of a prompt.
const Version = "1"

// Part is a part of a section. Start and End are bytes of the text.
type Part struct {
	ID         string
	Start, End int
	Digest     string // SHA-256, hex
}

// Section is a section as it was printed. Start and End are bytes of the text.
type Section struct {
	ID         string
	Class      Class
	Start, End int
	Characters int
	Tokens     int
	Digest     string // SHA-256, hex
	Parts      []Part
}

// Reason is why a section is not printed.
type Reason string

// The reasons.
const (
	ByMode       Reason = "mode"
	Excluded     Reason = "excluded"
	Empty        Reason = "empty"
	NoReaderTool Reason = "no_reader_tool"
	NoZone       Reason = "no_zone"
	NotSent      Reason = "not_sent"
	ByPattern    Reason = "pattern"
)

// LeftOut is a section that is not printed.
type LeftOut struct {
	ID     string
	Reason Reason
}

// Boundary is a place up to which the text stays what it is.
type Boundary struct {
	Byte   int
	Digest string // SHA-256, hex
	Tokens int
}

// Diagnostic is something that a careful reader should know. Code is listed in docs/system-prompt.md.
type Diagnostic struct {
	Code, Section, Part string
	Byte                int
	Message             string
}

// Prompt is a system prompt and its report.
type Prompt struct {
	Text           string
	Digest         string // SHA-256, hex
	Tokens         int
	Counter        string
	Exact          bool
	Cache, Session Boundary
	Sections       []Section
	LeftOut        []LeftOut
	Files          []FileReport
	Diagnostics    []Diagnostic
	Tools          []Tool
	ToolsDigest    string // SHA-256, hex
	Diff           *Diff
	Snapshot       *Snapshot
	Stale          []string
	// What held for what the request left open.
	Workspace, Zone, Hours string
	MaxChars               int
	Forgeable              bool
	// Counts is how many texts a tokenizer was given, and Sent their characters (code points).
	Counts, Sent int
	Context      *nodecontext.Context
}

// Draft is a request whose folders were read, and in which Check finds nothing wrong.
type Draft struct {
	Request
	texts        template.Texts
	tools        []Tool  // in order
	found        []Skill // of the request and of its roots
	all          []File  // the same
	refused      []SkillReport
	files        pages
	zone         *time.Location // nil: none
	hours        string         // 12 or 24
	skillReports []SkillReport
	diagnostics  []Diagnostic
	stale        []string
	given        map[string]Given
	// Nodes are those of the context, of which more can be taken before Compose; nil: none.
	Nodes *nodecontext.Draft
}

// Compose makes the text, with the sections that others make, by id. One that is absent was not sent.
func (d *Draft) Compose(given map[string]Given) Prompt {
	d.given = given
	p := Prompt{Tools: d.tools, ToolsDigest: toolsDigest(d.tools), Workspace: d.Workspace, Zone: d.Zone, Hours: d.hours, MaxChars: d.Bootstrap.Max}
	d.skillReports = slices.Clone(d.refused)
	for _, r := range table() {
		if r.by == custom {
			for _, c := range d.customs(r.class) {
				d.put(&p, row{id: c.ID, class: r.class, minimal: true, heading: passage.Line(c.Heading), by: custom}, &c)
			}
			continue
		}
		var sent *Custom
		if i := slices.IndexFunc(d.Sections, func(c Custom) bool { return c.ID == r.id }); i >= 0 {
			sent = &d.Sections[i]
			r.heading = cmp.Or(passage.Line(sent.Heading), r.heading)
		}
		d.put(&p, r, sent)
	}
	p.Digest = digest(p.Text)
	p.Cache.Digest, p.Session.Digest = digest(p.Text[:p.Cache.Byte]), digest(p.Text[:p.Session.Byte])
	return p
}

func toolsDigest(tools []Tool) string {
	var b strings.Builder
	for _, t := range tools {
		b.WriteString(t.Name + "\x00" + t.Summary + "\x00" + t.Schema + "\x00")
	}
	return digest(b.String())
}

// customs are the caller's own sections of a class, in order.
func (d *Draft) customs(class Class) []Custom {
	var all []Custom
	for _, c := range d.Sections {
		if !slices.ContainsFunc(table(), func(r row) bool { return r.id == c.ID }) && cmp.Or(c.Class, Stable) == class {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Custom) int { return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(a.ID, b.ID)) })
	return all
}

// put adds a section to the text, or tells why not. sent is what the caller sent for it; nil: nothing.
func (d *Draft) put(p *Prompt, r row, sent *Custom) {
	content := d.content(r, sent)
	reason := content.LeftOut
	switch {
	case reason == NotSent:
	case d.excludes(r.id):
		reason = Excluded
	case !d.inMode(r, sent):
		reason = ByMode
	case reason == "" && content.Text == "":
		reason = Empty
	}
	if reason != Excluded && reason != ByMode {
		d.skillReports = append(d.skillReports, content.skills...)
	}
	if reason != "" {
		p.LeftOut = append(p.LeftOut, LeftOut{r.id, reason})
		return
	}
	p.add(r, content)
}

// content is what a section says: what the caller sent for it, though that be empty, else what is made here, else what another made.
func (d *Draft) content(r row, sent *Custom) Given {
	if sent != nil && (r.id != idNotice || d.notice().LeftOut == "") {
		return callersText(*sent)
	}
	if r.content != nil {
		return r.content(d)
	}
	if g, ok := d.given[r.id]; ok {
		return g
	}
	return Given{LeftOut: NotSent}
}

func (d *Draft) context() Given {
	switch {
	case d.Context == nil:
		return Given{LeftOut: NotSent}
	case d.Nodes == nil:
		return Given{} // It was not fitted: the mode or exclude leaves it out.
	}
	text, parts := d.Nodes.Text()
	g := Given{Text: text}
	for _, p := range parts {
		g.Parts = append(g.Parts, Part{ID: p.ID, Start: p.Start, End: p.End})
	}
	return g
}

func (d *Draft) excludes(id string) bool { return d.Mode != None && slices.Contains(d.Exclude, id) }

// prints says that neither the mode nor exclude leaves out a section, which is one of those that Minimal prints.
func (d *Draft) prints(id string) bool { return d.Mode != None && !d.excludes(id) }

// inMode says that a section is printed in the mode, or is asked for.
func (d *Draft) inMode(r row, sent *Custom) bool {
	switch {
	case d.Mode == None:
		return r.id == idIdentity
	case slices.Contains(d.Include, r.id):
		return true
	case r.by == custom && len(sent.Modes) > 0:
		return slices.Contains(sent.Modes, d.Mode)
	}
	return d.Mode == Full || r.minimal
}

// add writes a section behind the others.
func (p *Prompt) add(r row, content Given) {
	if p.Text != "" {
		p.Text += "\n\n"
	}
	start := len(p.Text)
	if r.heading != "" {
		p.Text += "# " + r.heading + "\n\n"
	}
	inner := len(p.Text)
	p.Text += content.Text
	s := Section{ID: r.id, Class: r.class, Start: start, End: len(p.Text), Digest: digest(p.Text[start:]), Characters: characters(p.Text[start:])}
	for _, part := range content.Parts {
		s.Parts = append(s.Parts, Part{part.ID, part.Start + inner, part.End + inner, digest(content.Text[part.Start:part.End])})
	}
	p.Sections = append(p.Sections, s)
	if r.class <= Stable {
		p.Cache.Byte = s.End
	}
	if r.class <= Session {
		p.Session.Byte = s.End
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
