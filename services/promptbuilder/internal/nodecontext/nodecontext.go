// Package nodecontext makes the text that tells a model of a conversation (seed 004, 7.3): a line for each earlier node, the
// node that is answered in full, and references; cut to a budget in a fixed order (field/systemprompt-rules.md 4). Pure.
package nodecontext

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// Request asks for a context. Fields are those of BuildContextRequest, where their limits stand.
type Request struct {
	// Backend counts tokens; where it is empty, the estimate of the name Counter does.
	Backend, Counter string
	Locale           string
	Nodes            []Node
	// Path are ids on the way to the new node, oldest first; Parents which of them it follows, none for the last.
	Path, Parents []string
	// LinesOnly: no node of Path is a parent.
	LinesOnly bool
	Refs      []string
	Prompt    string
	// Ancestors is nil for 200.
	Ancestors           *int
	MaxTokens, TrimStep int
	Seed                bool // the layout of the seed
	NoDetails           bool
	NoCurrent           bool
	Texts               map[string]string
}

// Node is a node of a conversation.
type Node struct {
	ID, Prompt, Answer, Summary string
	Stale                       bool
	Tags                        []string
}

// State says what the line of a node is made of.
type State string

// The states.
const (
	Fresh   State = "fresh"
	Missing State = "missing"
	Stale   State = "stale"
)

// Form is how a node stands in a context.
type Form string

// The forms.
const (
	Full     Form = "full"
	Line     Form = "line"
	Cut      Form = "cut"
	LeftOut  Form = "left_out"
	Repeated Form = "repeated"
)

// Entry is what became of a node. TextID is the id under which it stands in the text; empty where it does not.
type Entry struct {
	ID, TextID string
	Form       Form
	Summary    State
	Reference  bool
	// SummaryCut says that it is a line, and its summary longer than one may be.
	SummaryCut bool
}

// What holds where a request does not say otherwise.
const (
	defaultAncestors = 200
	defaultTokens    = 2000
	defaultTrimStep  = 8

	maxLine    = 200 // characters of a summary
	maxOpening = 100 // characters of the beginning of a node
)

// Draft is a context from which more can be taken.
type Draft struct {
	request Request
	texts   template.Texts
	// lines are printed as one line each, parents after them; dropped are those that went at the beginning.
	lines, parents []*item
	dropped        int
	refs           []*item
	droppedRefs    int
	all            []*item // those of the path, then the references, as they are told
	current        string  // the prompt as it is printed
	promptChanges  string  // what was done to it
	// whole is the draft before anything went, shrinks how many steps take nodes away, and longest how many hundred characters the
	// answer of the last parent has.
	whole            whole
	shrinks, longest int
}

// item is a node that is printed.
type item struct {
	*Entry
	node cleaned
	// tail is how many hundred characters the last parent keeps of its answer, when it is cut.
	tail int
	// ended is the shortest end of the answer that was asked for, of so many hundred characters: to find one takes as long as the text is.
	ended struct {
		tail int
		text string
	}
	// text is the node as it is printed in each form, from when it is asked for on; that of Cut until tail changes. Texts may have
	// megabytes, and a draft is written anew for each count.
	text map[Form]string
}

func newDraft(r Request) *Draft {
	locale, _ := template.Locale(r.Locale) // Checked.
	d := &Draft{request: r, texts: template.New(locale, r.Texts)}
	nodes := map[string]cleaned{}
	for _, n := range r.Nodes {
		nodes[n.ID] = clean(n)
	}
	d.takePath(nodes)
	d.takeRefs(nodes)
	d.name()
	if !r.NoCurrent {
		prompt := passage.Body(r.Prompt)
		d.current, d.promptChanges = prompt.Text, prompt.Changes()
	}
	if d.current != "" && !r.Seed {
		d.current = passage.Frame("prompt", "", d.current)
	}
	d.whole = whole{lines: d.lines, parents: d.parents, refs: d.refs}
	for _, i := range d.all {
		d.whole.entries = append(d.whole.entries, *i.Entry)
	}
	return d
}

func (d *Draft) item(n cleaned, form Form, reference bool) *item {
	state := Fresh
	switch {
	case n.Summary == "":
		state = Missing
	case n.Stale:
		state = Stale
	}
	e := &Entry{ID: n.ID, Form: form, Summary: state, Reference: reference}
	i := &item{Entry: e, node: n, text: map[Form]string{}}
	d.all = append(d.all, i)
	return i
}

// takePath takes the lines of the last ancestors, and the parents, in the order of the path.
func (d *Draft) takePath(nodes map[string]cleaned) {
	r := d.request
	parents := map[string]bool{}
	for _, id := range r.Parents {
		parents[id] = true
	}
	if n := len(r.Path); n > 0 && len(parents) == 0 && !r.LinesOnly {
		parents[r.Path[n-1]] = true
	}
	seen := map[string]bool{}
	for _, id := range r.Path {
		if seen[id] {
			continue
		}
		seen[id] = true
		if parents[id] {
			d.parents = append(d.parents, d.item(nodes[id], Full, false))
		} else {
			d.lines = append(d.lines, d.item(nodes[id], Line, false))
		}
	}
	most := defaultAncestors
	if r.Ancestors != nil {
		most = *r.Ancestors
	}
	d.dropLines(len(d.lines) - most)
	d.dropped = 0 // These were not asked for.
}

func (d *Draft) takeRefs(nodes map[string]cleaned) {
	seen := map[string]bool{}
	for _, id := range d.request.Path {
		seen[id] = true
	}
	for _, id := range d.request.Refs {
		if seen[id] {
			d.item(nodes[id], Repeated, true)
			continue
		}
		seen[id] = true
		d.refs = append(d.refs, d.item(nodes[id], Line, true))
	}
}

// shortID is how many hex digits name a node in the text.
const shortID = 8

// name gives nodes the ids under which they stand in the text: the last digits, or all where two nodes share them.
func (d *Draft) name() {
	short := func(id string) string {
		digits := strings.ToLower(strings.ReplaceAll(id, "-", ""))
		return digits[max(0, len(digits)-shortID):]
	}
	owners := map[string]map[string]bool{}
	for _, e := range d.all {
		s := short(e.ID)
		if owners[s] == nil {
			owners[s] = map[string]bool{}
		}
		owners[s][e.ID] = true
	}
	for _, e := range d.all {
		if e.Form == Repeated || e.Form == LeftOut || d.request.Seed && !e.Reference {
			continue // It stands nowhere, or without its id.
		}
		if e.TextID = short(e.ID); len(owners[e.TextID]) > 1 {
			e.TextID = e.ID
		}
	}
}

// dropLines leaves out the first lines of the path.
func (d *Draft) dropLines(n int) {
	for range n {
		d.lines[0].leave()
		d.lines = d.lines[1:]
		d.dropped++
	}
}

func (i *item) leave() { i.Form, i.TextID = LeftOut, "" }

// TakeRef leaves out the last reference; it gives false where there is none.
func (d *Draft) TakeRef() bool {
	n := len(d.refs)
	if n == 0 {
		return false
	}
	d.refs[n-1].leave()
	d.refs = d.refs[:n-1]
	d.droppedRefs++
	return true
}

// TakeAncestors leaves out the oldest lines, as many as the step says; it gives 0 where there is none.
func (d *Draft) TakeAncestors() int {
	n := d.step()
	d.dropLines(n)
	return n
}

// step is how many of the oldest lines go next.
func (d *Draft) step() int {
	return min(cmp.Or(d.request.TrimStep, defaultTrimStep), len(d.lines))
}

// line is a node in one line.
func (d *Draft) line(n cleaned, state State) string {
	if state == Fresh {
		return passage.Cap(n.Summary, maxLine)
	}
	opening := d.texts.Text("opening")
	return opening + passage.Cap(passage.Line(n.Prompt+" "+n.Answer), maxOpening-passage.Characters.Size(opening))
}

func (d *Draft) idLine(i *item) string { return "[" + i.TextID + "]: " + d.line(i.node, i.Summary) }

// keep cuts a node to an end of so many hundred characters.
func (i *item) keep(tail int) {
	i.tail = tail
	delete(i.text, Cut)
}

// end is what a node that is cut keeps of its answer.
func (i *item) end() string {
	text := i.node.Answer
	if i.ended.tail >= i.tail {
		text = i.ended.text
	}
	text = passage.Characters.Tail(text, maxOpening*i.tail)
	i.ended.tail, i.ended.text = i.tail, text
	return text
}

// begun is what a node that is cut keeps of its prompt.
func begun(prompt string) string { return passage.Cap(passage.Line(prompt), maxOpening) }

// full is a node in full.
func (d *Draft) full(i *item) string {
	prompt, answer := i.node.Prompt, i.node.Answer
	if i.Form == Cut {
		prompt = begun(prompt)
		answer = passage.CutMark + "\n" + i.end()
	}
	return d.texts.Fill("node", map[string]string{"prompt": prompt, "answer": answer})
}

// refLine is a reference with its tags, in which blanks would end one.
func (d *Draft) refLine(i *item) string {
	line := d.idLine(i)
	var tags []string
	for _, tag := range i.node.Tags {
		if tag = passage.Line(tag); tag != "" {
			tags = append(tags, "#"+strings.ReplaceAll(tag, " ", "_"))
		}
	}
	if len(tags) > 0 {
		line += " [" + strings.Join(tags, " ") + "]"
	}
	return line
}

// leftOut is the line that stands for what went at the beginning.
func (d *Draft) leftOut() []string {
	if d.dropped == 0 {
		return nil
	}
	return []string{d.texts.Fill("context.left_out", map[string]string{"n": strconv.Itoa(d.dropped)})}
}
