package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// Preset is a set of choices under a name. The zero value of each leaves it open: a request that names the preset says it
// itself, or the default holds.
type Preset struct {
	Name       string
	Wrapping   Wrapping
	Fit        Fit
	TrimTo     int
	Finest     fit.Place
	Slack      *int
	Order      Order
	NoteHeader NoteHeader
	NoteDepth  int
	MaxTokens  int
	// Sampling is how an answer should be drawn. No byte of a prompt depends on it: it is given back to whoever sends the
	// prompt.
	Sampling sampling.Sampling
	// Blocks bound blocks. A rule of a request stands instead of that for the same kind.
	Blocks []Rule
}

// Fit is what happens to a prompt that is too large.
type Fit string

// The ways to fit: the first is the default.
const (
	// FitLines cuts the head of the text, as little as fits.
	FitLines Fit = "lines"
	// FitNone cuts nothing, and says that the prompt is too large.
	FitNone Fit = "none"
	// FitCharTrim keeps the last TrimTo characters.
	FitCharTrim Fit = "char_trim"
)

// cutsLines says that a place is looked for at which the text is cut.
func (r Request) cutsLines() bool { return r.Fit != FitNone && r.Fit != FitCharTrim }

// Order is which of the two large blocks comes first.
type Order string

// The orders: the first is the default.
const (
	ReferenceFirst Order = "reference_first"
	TextFirst      Order = "text_first"
)

// NoteHeader is what stands over the author's note.
type NoteHeader string

// The headers: the first is the default, the other the older one.
const (
	NoteHeaderDefault NoteHeader = "default"
	NoteHeaderLegacy  NoteHeader = "legacy"
)

// DefaultTrim is how many characters FitCharTrim keeps (field/wannabe.md 1.5).
const DefaultTrim = 8000

// Prepare puts the preset that a request names in the place of what the request leaves open, and finds everything that is
// wrong with the whole; what only the preset makes wrong is told of the field preset. Build takes only what it gives without
// a violation.
func (b *Builder) Prepare(r Request) (Request, []Violation) {
	p, known := b.defaults.Presets[r.Preset]
	var all violations
	if r.Preset != "" && !known {
		all.add("preset", "there is no preset %.63q; there are: %s", r.Preset, strings.Join(slices.Sorted(maps.Keys(b.defaults.Presets)), ", "))
	}
	whole := r.over(p)
	whole.Unused = r.unused(whole)
	found := whole.Check()
	if found == nil || !known {
		return whole, append(all, found...)
	}
	own := r.Check()
	for _, v := range found {
		if !slices.Contains(own, v) {
			v = Violation{"preset", fmt.Sprintf("%q brings %s, which %s", r.Preset, v.Field, v.Description)}
		}
		all = append(all, v)
	}
	return whole, all
}

// over puts a request over a preset.
func (r Request) over(p Preset) Request {
	if w := r.Wrapping; w.Name == "" && w.BOS+w.BeforeInstruction+w.BeforeInput+w.AfterInput+w.BeforeSuffix == "" && w.Stop == nil {
		r.Wrapping = p.Wrapping
	}
	r.Fit = cmp.Or(r.Fit, p.Fit)
	if r.Fit == FitCharTrim {
		r.TrimTo = cmp.Or(r.TrimTo, p.TrimTo)
	}
	r.Finest = cmp.Or(r.Finest, p.Finest)
	r.Slack = cmp.Or(r.Slack, p.Slack)
	r.Order = cmp.Or(r.Order, p.Order)
	r.NoteHeader = cmp.Or(r.NoteHeader, p.NoteHeader)
	if r.NoteDepth == nil && p.NoteDepth != 0 {
		r.NoteDepth = &p.NoteDepth
	}
	r.MaxTokens = cmp.Or(r.MaxTokens, p.MaxTokens)
	r.Sampling = r.Sampling.Over(p.Sampling)
	r.Blocks = overRules(r.Blocks, p.Blocks)
	return r
}

// held is what a request says of what a preset can hold, with the defaults where it says nothing.
func (r Request) held() Preset {
	p := Preset{
		Name: r.Preset, Wrapping: r.Wrapping.resolve(), Fit: cmp.Or(r.Fit, FitLines), Finest: cmp.Or(r.Finest, fit.Line),
		Slack: r.Slack, Order: cmp.Or(r.Order, ReferenceFirst), NoteHeader: cmp.Or(r.NoteHeader, NoteHeaderDefault), NoteDepth: r.noteDepth(), MaxTokens: r.MaxTokens, Sampling: r.Sampling,
	}
	if p.Fit == FitCharTrim {
		p.TrimTo = cmp.Or(r.TrimTo, DefaultTrim)
	}
	if !r.Compat {
		p.Blocks = r.rules()
	}
	return p
}

// Check finds everything that is wrong with a preset, by the names of the fields of a request.
func (p Preset) Check() []Violation {
	all := violations(Request{}.over(p).Check())
	if p.TrimTo != 0 && p.Fit != FitCharTrim {
		all.add("max_main_text_chars", "is given, but only the fit %s keeps a number of characters", FitCharTrim)
	}
	if p.MaxTokens > maxPresetTokens {
		all.add("max_tokens", "must be at most %d, and is %d", maxPresetTokens, p.MaxTokens)
	}
	if p.TrimTo > MaxBody {
		all.add("max_main_text_chars", "must be at most %d, and is %d: no text is longer", MaxBody, p.TrimTo)
	}
	return all
}

// maxPresetTokens is the longest answer of a preset; no window is that large.
const maxPresetTokens = 1 << 20

// Presets gives all presets, by name.
func (b *Builder) Presets() []Preset {
	all := make([]Preset, 0, len(b.defaults.Presets))
	for _, name := range slices.Sorted(maps.Keys(b.defaults.Presets)) {
		p := b.defaults.Presets[name]
		p.Name = name
		all = append(all, p)
	}
	return all
}

// settings finds what is wrong with what a preset can hold, beside its wrapping.
func (v *violations) settings(r Request) {
	word(v, "fit", r.Fit, FitLines, FitNone, FitCharTrim)
	word(v, "block_order", r.Order, ReferenceFirst, TextFirst)
	word(v, "note_header", r.NoteHeader, NoteHeaderDefault, NoteHeaderLegacy)
	switch {
	case r.TrimTo < 0:
		v.add("max_main_text_chars", "must be 0 for %d or a positive number, and is %d", DefaultTrim, r.TrimTo)
	case r.TrimTo > 0 && r.Fit != FitCharTrim:
		v.add("max_main_text_chars", "is given, but only FIT_CHAR_TRIM keeps a number of characters")
	}
	if n := r.noteDepth(); n < 0 || n > maxNoteDepth {
		v.add("note_depth", "must be from 1 to %d, or 0 for the place before the last %d whole lines, and is %d", maxNoteDepth, tailLines, n)
	}
	if r.MaxTokens < 0 {
		v.add("max_tokens", "must be 0 for the default or a positive number, and is %d", r.MaxTokens)
	}
	if r.Slack != nil && (*r.Slack < 0 || *r.Slack > MaxSlack) {
		v.add("slack_percent", "must be from 0 to %d, and is %d", MaxSlack, *r.Slack)
	}
	v.sampling(r.Sampling)
}

// noteDepth is how many lines stand behind the author's note; 0 for tailLines without the suffix.
func (r Request) noteDepth() int {
	if r.NoteDepth == nil {
		return 0
	}
	return *r.NoteDepth
}

// maxNoteDepth is the most lines behind the author's note.
const maxNoteDepth = 1000

// word notes a word that is none of those that are known; the empty one leaves the choice open.
func word[W ~string](v *violations, field string, w W, known ...W) {
	if w == "" || slices.Contains(known, w) {
		return
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	v.add(field, "must be one of %s, and is %.40q", strings.Join(names, ", "), string(w))
}

// maxSamplingStop is the longest stop string of a sampling, in bytes, as in a request to generate.
const maxSamplingStop = 256

// sampling finds what is wrong with a sampling.
func (v *violations) sampling(s sampling.Sampling) {
	const field = "sampling."
	s.Check(func(name, format string, args ...any) { v.add(field+name, format, args...) })
	if s.MaxTokens != 0 {
		v.add(field+"max_tokens", "must be 0, and is %d: max_tokens beside the sampling says how long the answer may be", s.MaxTokens)
	}
	v.stops(field+"stop", s.Stop, maxSamplingStop)
}
