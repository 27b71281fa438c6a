package sysprompt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// The rows whose content is a few lines.

func (d *Draft) identity() Given { return Given{Text: IdentityLine(d.Request)} }

// IdentityLine is who the assistant is, by a request in which Check finds nothing wrong.
func IdentityLine(r Request) string {
	if r.Identity != "" {
		return passage.Line(r.Identity)
	}
	locale, _ := template.Locale(r.Locale) // Checked.
	product := cmp.Or(passage.Line(r.Product), "Tsumugi")
	return template.New(locale, r.Texts).Fill(idIdentity, map[string]string{"product": product})
}

const (
	maxSummary = 200 // characters of the summary of a tool
	statusTool = "session_status"
)

// firstTools stand before all others, in this order.
var firstTools = []string{"read", "write", "exec", statusTool}

// takeTools puts tools into the order of the prompt, each once, and tells what is not as it was sent.
func (d *Draft) takeTools(tools []Tool) {
	d.tools = sortTools(tools)
	if n := len(tools) - len(d.tools); n > 0 {
		d.tell("tools_merged", idTooling, "%d of the tools were sent twice, and are listed once", n)
	}
	for i, t := range d.tools {
		if n := characters(t.Summary); n > maxSummary {
			d.tools[i].Summary = passage.Cap(t.Summary, maxSummary)
			d.diagnostics = append(d.diagnostics, Diagnostic{
				Code: "tool_shortened", Section: idTooling, Part: t.Name, Message: fmt.Sprintf("its summary has %d characters, and is cut to %d", n, maxSummary),
			})
		}
	}
}

// sortTools puts tools into the order of the prompt, each once.
func sortTools(tools []Tool) []Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Summary = passage.Line(tools[i].Summary)
	}
	rank := func(t Tool) int {
		if i := slices.Index(firstTools, t.Name); i >= 0 {
			return i
		}
		return len(firstTools)
	}
	slices.SortFunc(tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(tools)
}

func (d *Draft) hasTool(name string) bool {
	return slices.ContainsFunc(d.tools, func(t Tool) bool { return t.Name == name })
}

func (d *Draft) tooling() Given {
	if len(d.tools) == 0 {
		return Given{LeftOut: NotSent}
	}
	var b builder
	b.text.WriteString("Available tools:")
	for _, t := range d.tools {
		line := "- " + t.Name
		if t.Summary != "" {
			line += ": " + t.Summary
		}
		b.part("\n", t.Name, line)
	}
	return b.given()
}

func (d *Draft) workspace() Given {
	if d.Workspace == "" {
		return Given{LeftOut: NotSent}
	}
	return Given{Text: "Working directory: " + passage.Name(d.Workspace)}
}

// notice says that files follow, where a section with files is printed: both are in every mode but None, as this one is. Without one it is
// left out as they are.
func (d *Draft) notice() Given {
	follows := func(id string, files []*page) bool { return len(files) > 0 && !d.excludes(id) }
	switch {
	case len(d.files.stable)+len(d.files.changing) == 0:
		return Given{LeftOut: NotSent}
	case !follows(idFiles, d.files.stable) && !follows(idChanging, d.files.changing):
		return Given{LeftOut: Excluded}
	}
	return Given{Text: "The files of this workspace follow under Project Context."}
}

func (d *Draft) time() Given {
	if d.Zone == "" {
		if d.TimeFormat != "" {
			return Given{LeftOut: NoZone}
		}
		return Given{LeftOut: NotSent}
	}
	text := "Timezone: " + d.Zone + "\nTime format: " + d.hours + "-hour"
	if d.hasTool(statusTool) {
		text += "\n\nUse " + statusTool + " tool when you need the current time."
	}
	return Given{Text: text}
}

func (d *Draft) now() Given {
	switch {
	case !d.IncludeTime && !d.IncludeDate:
		return Given{LeftOut: NotSent}
	case d.zone == nil:
		return Given{LeftOut: NoZone}
	case !d.IncludeTime:
		return Given{Text: "Current date: " + d.Now.In(d.zone).Format("2006-01-02") + " (" + d.Zone + ")"}
	}
	clock := "15:04"
	if d.hours == "12" {
		clock = "3:04 PM"
	}
	return Given{Text: "Current time: " + d.Now.In(d.zone).Format("2006-01-02 "+clock+" -07:00") + " (" + d.Zone + ")"}
}

func (d *Draft) sandbox() Given {
	if d.Sandbox == nil {
		return Given{LeftOut: NotSent}
	}
	var b builder
	b.fact("Sandbox runtime: ", d.Sandbox.Runtime)
	b.fact("Sandbox path: ", d.Sandbox.Path)
	elevated := "not allowed"
	if d.Sandbox.Elevated {
		elevated = "allowed"
	}
	b.fact("Elevated execution: ", elevated)
	return b.given()
}

func (d *Draft) runtime() Given {
	var b builder
	r := d.Runtime
	b.fact("- Host: ", r.Host)
	b.fact("- OS: ", r.OS)
	b.fact("- Node: ", r.Node)
	b.fact("- Model: ", r.Model)
	b.fact("- Repository root: ", r.RepoRoot)
	b.fact("- Thinking level: ", r.Thinking)
	for _, key := range slices.Sorted(maps.Keys(r.Extra)) {
		b.fact("- "+passage.Line(key)+": ", r.Extra[key])
	}
	if b.text.Len() == 0 {
		return Given{LeftOut: NotSent}
	}
	return b.given()
}

func (d *Draft) reasoning() Given {
	level := passage.Name(d.Reasoning.Level)
	if level == "" {
		return Given{LeftOut: NotSent}
	}
	text := "Reasoning visibility: " + level
	if toggle := passage.Name(d.Reasoning.Toggle); toggle != "" {
		text += "\nChange it with " + toggle + "."
	}
	return Given{Text: text}
}

// callersText is a section with the text of the caller.
func callersText(c Custom) Given {
	text := passage.Body(c.Text).Text
	if text == "" {
		return Given{LeftOut: Empty}
	}
	if c.Untrusted {
		text = passage.Frame("data", `source="`+passage.Attr(c.ID)+`"`, text)
	}
	return Given{Text: text}
}

// builder makes a text of parts.
type builder struct {
	text  strings.Builder
	parts []Part
}

// part adds a part behind what stands between it and the one before.
func (b *builder) part(between, id, text string) {
	if b.text.Len() > 0 {
		b.text.WriteString(between)
	}
	b.parts = append(b.parts, Part{ID: id, Start: b.text.Len(), End: b.text.Len() + len(text)})
	b.text.WriteString(text)
}

// fact adds a line, if its value is sent.
func (b *builder) fact(before, value string) {
	value = passage.Name(value)
	if value == "" {
		return
	}
	if b.text.Len() > 0 {
		b.text.WriteString("\n")
	}
	b.text.WriteString(before + value)
}

func (b *builder) given() Given { return Given{Text: b.text.String(), Parts: b.parts} }

func characters(s string) int { return utf8.RuneCountInString(s) }
