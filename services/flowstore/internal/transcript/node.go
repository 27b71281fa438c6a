// Package transcript shows nodes and flows as text for people: a conversation that reads like one, in which a change is a
// few lines of a diff. It is for eyes alone; nothing reads it back.
package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Node gives a node: what it is and how it was made, a line each, then every text as it is under a line with its role.
// The same node gives the same text.
func Node(n node.Node) []byte {
	p := &page{}
	p.line("node", n.ID.String())
	p.line("created", stamp(n.Created))
	p.line("model", n.Model)
	p.line("tags", strings.Join(n.Tags, ", "))
	if n.Score != nil {
		p.line("score", strconv.FormatFloat(*n.Score, 'f', -1, 64))
	}
	if n.Generation != nil {
		p.generation(n.Generation)
	}
	for _, t := range n.Texts {
		p.section(about(t.Role, amount(t.Count, "tokens"), amount(t.Duration, "s")), t.Content)
	}
	if n.Summary.Text != "" {
		state := ""
		if n.Summary.Stale {
			state = "to be made anew"
		}
		p.section(about("summary", stamp(n.Summary.Built), state), n.Summary.Text)
	}
	if n.Note != "" {
		p.section("note", n.Note)
	}
	return p.Bytes()
}

// generation says in short how an answer was made; the file has all of it.
func (p *page) generation(g *node.Generation) {
	finish := g.Finish
	if g.Fault != "" {
		finish += " (" + g.Fault + ")"
	}
	p.line("made", about(g.Task, finish, g.Branch))
	p.line("backend", about(g.Backend, g.Kind, g.Model, amount(g.Window, "tokens of window")))
	p.line("prompt", about(amount(g.PromptTokens, "tokens"), amount(g.CachedTokens, "of them cached"), g.PromptDigest))
	p.line("answer", about(amount(g.AnswerTokens, "tokens"), amount(g.AnswerSeconds, "s")))
	p.line("picks", about(append([]string{seed(g.PickSeed)}, g.Picks...)...))
	if g.Sampling != nil {
		p.line("sampling", about(append(knobs(reflect.ValueOf(*g.Sampling)), amount(g.Sampling.MaxTokens, "tokens at most"))...))
	}
	p.line("error", g.Error)
}

// page is a text in the making.
type page struct{ bytes.Buffer }

// line writes a short thing with its name, unless there is none. Line ends within it become blanks.
func (p *page) line(name, value string) {
	if value != "" {
		fmt.Fprintf(p, "%s: %s\n", name, strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }), " "))
	}
}

// section writes a text as it is, under a line of its own.
func (p *page) section(head, text string) {
	fmt.Fprintf(p, "\n--- %s ---\n%s\n", head, text)
}

// about joins what is known.
func about(parts ...string) string {
	known := parts[:0:0]
	for _, part := range parts {
		if part != "" {
			known = append(known, part)
		}
	}
	return strings.Join(known, ", ")
}

// amount gives a number with its unit; nothing for zero, which is unknown.
func amount[N int | float64](n N, unit string) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'f', -1, 64) + " " + unit
}

func seed(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("seed %d", n)
}

// knobs gives what is set, in the words of the contract, so that a change of any of it is seen in a diff.
func knobs(group reflect.Value) (set []string) {
	for i, field := range reflect.VisibleFields(group.Type()) {
		name := field.Tag.Get("yaml")
		value := group.Field(i)
		if name == "-" || value.IsZero() {
			continue
		}
		if value = reflect.Indirect(value); value.Kind() == reflect.Struct {
			set = append(set, fmt.Sprintf("%s (%s)", name, strings.Join(knobs(value), ", ")))
			continue
		}
		text, _ := json.Marshal(value.Interface()) // No number of a node is without a form in JSON.
		set = append(set, fmt.Sprintf("%s %s", name, text))
	}
	return set
}

// stamp gives a time as the files have it; nothing for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000000-07:00")
}
