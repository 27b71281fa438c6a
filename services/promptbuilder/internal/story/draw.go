package story

import (
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

// The limits of what one prompt tells of combinations of options.
const (
	// MaxCombinations is how many there may be.
	MaxCombinations = 100
	// MaxCombinationBytes is how large all of them may be together, but for the first, which is always told: the fields and
	// texts of their picks, and pickBytes for each pick.
	MaxCombinationBytes = 1 << 20
	pickBytes           = 32
)

// parse reads the dynamic prompts of a field.
func (r *Request) parse(f field) (*dynamic.Template, error) {
	if r.Compat {
		return dynamic.ParseCompat(*f.text)
	}
	return dynamic.Parse(*f.text, dynamic.Options{Sets: r.Sets, Lenient: r.LenientBody && f.text == &r.Body})
}

// draws are the fields of a request as templates, and where what they draw goes.
type draws struct {
	request   *Request
	fields    []field
	templates []*dynamic.Template
	warnings  []Warning
}

// newDraws reads a copy of a request in which Check found nothing wrong.
func newDraws(r Request) draws {
	r.Work.Keywords, r.Work.Genres = slices.Clone(r.Work.Keywords), slices.Clone(r.Work.Genres)
	d := draws{request: &r, fields: r.drawn()}
	for _, f := range d.fields {
		t, err := r.parse(f)
		if err != nil {
			panic(fmt.Sprintf("a request that Check refuses was built: %s: %v", f.name, err))
		}
		d.templates = append(d.templates, t)
		if m := t.Malformed(); m != nil {
			d.warn(MalformedGroup, f.name, "%v; %d in all are taken for text", m.Told[0], len(m.Told)+m.More)
		}
		if n := t.LeftOut(); n > 0 {
			d.warn(TextLeftOut, f.name, "%d characters that are comments, or stand outside of @startpoint and @endpoint, are not in the prompt", n)
		}
	}
	return d
}

func (d *draws) warn(code Code, field, format string, args ...any) {
	d.warnings = append(d.warnings, Warning{code, field, fmt.Sprintf(format, args...)})
}

// draw puts what a chooser takes in the place of all groups; it gives a chooser for each field.
func (d *draws) draw(choosers func(field string) dynamic.Chooser) (texts []string, picks []Pick) {
	for i, f := range d.fields {
		text, taken := d.templates[i].Draw(choosers(f.name))
		texts = append(texts, text)
		for _, p := range taken {
			picks = append(picks, Pick{Field: f.name, Pick: p})
		}
	}
	return texts, picks
}

// settle draws a request: as its picks say, and for the rest as its sampler does.
func (d *draws) settle() (drawn Request, picks []Pick) {
	fixed := map[string]*dynamic.Fixed{}
	texts, picks := d.draw(func(field string) dynamic.Chooser {
		fixed[field] = &dynamic.Fixed{Picks: d.fixed(field), Else: d.sampler(field)}
		return fixed[field]
	})
	taken := map[string]bool{}
	for _, p := range picks {
		taken[fmt.Sprint(p.Field, p.Group)] = !slices.Contains(fixed[p.Field].Missed, p.Group)
	}
	for i, p := range d.request.Picks {
		if !taken[fmt.Sprint(p.Field, p.Group)] {
			d.warn(PickNotTaken, fmt.Sprintf("picks[%d]", i), "group %d of %s is not what it was, so that these options cannot be taken again", p.Group, p.Field)
		}
	}
	for i, f := range d.fields {
		*f.text = texts[i]
	}
	return *d.request, picks
}

// fixed are the picks of a field that are taken again, by group.
func (d *draws) fixed(field string) map[int]dynamic.Pick {
	picks := map[int]dynamic.Pick{}
	for _, p := range d.request.Picks {
		if p.Field == field {
			picks[p.Group] = p.Pick
		}
	}
	return picks
}

func (d *draws) sampler(field string) dynamic.Chooser {
	switch d.request.Sampler {
	case Cyclic:
		return dynamic.Cyclic(d.request.Seed)
	case All:
		return &dynamic.Walk{} // it begins with the first choice of every group
	}
	return dynamic.Random(d.request.Seed, field)
}

// combinations are the picks of all combinations; some says that there are more than may be told.
func (d *draws) combinations() (all [][]Pick, some bool) {
	size := 0
	for w := (dynamic.Walk{}); ; {
		_, picks := d.draw(func(string) dynamic.Chooser { return &w })
		for _, p := range picks {
			size += len(p.Field) + len(p.Text) + pickBytes
		}
		if len(all) == MaxCombinations || len(all) > 0 && size > MaxCombinationBytes {
			return all, true
		}
		all = append(all, picks)
		if !w.Next() {
			return all, false
		}
	}
}
