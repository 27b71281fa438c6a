package story

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

// The limits of a request.
const (
	// MaxBody is that of the body, and of all texts of a count together, in bytes.
	MaxBody = 4 << 20
	// MaxText is that of each story text, in bytes.
	MaxText = 64 << 10
	// MaxItems is how many items each list may have.
	MaxItems = 64
	// MaxItem is that of each item, in bytes.
	MaxItem = 1 << 10
	// MaxGroups is how many `{A|B}` groups one request may draw, and how many picks it may name.
	MaxGroups = 1000
	// MaxSets is how many named sets a request may have.
	MaxSets = 64
	// MaxSetOptions is how many options each of them may have.
	MaxSetOptions = 1000
	// MaxSlack is the largest slack, in percent of the limit.
	MaxSlack = 75
	// MaxCountTexts is how many texts one count may have.
	MaxCountTexts = 64
)

// Violation is one wrong field of a request, by its path there.
type Violation struct{ Field, Description string }

// Check finds everything that is wrong with a request. Build takes only requests in which nothing is.
func (r Request) Check() []Violation {
	var all violations
	all.size("body", r.Body, MaxBody)
	for _, f := range r.Work.texts() {
		all.size(f.name, *f.text, MaxText)
	}
	if level := r.Work.DialogueLevel; level != nil {
		all.size("story.dialogue_level", *level, MaxText)
	}
	for _, list := range r.Work.lists() {
		if n := len(*list.items); n > MaxItems {
			all.add(list.name, "has %d items; the limit is %d", n, MaxItems)
			continue
		}
		for _, f := range list.fields() {
			all.size(f.name, *f.text, MaxItem)
		}
	}
	all.rating(r)
	all.settings(r)
	all.blocks(r)
	if r.State != "" && !isState(r.State) {
		all.add("state", "must be the state of an earlier reply, or empty")
	}
	all.wrapping(r.Wrapping)
	all.compat(r)
	all.sets(r)
	all.picks(r)
	all.groups(r)
	return all
}

// rating finds what is wrong with the rating: the program of seed 000 takes any, and no other rules know more than two.
func (v *violations) rating(r Request) {
	switch rating := r.Work.Rating; {
	case r.Compat:
		v.size("story.rating", rating, MaxItem)
	case rating != "" && rating != RatingGeneral && rating != RatingR18:
		v.add("story.rating", "must be %q, %q or empty for the default, and is %.20q", RatingGeneral, RatingR18, rating)
	}
}

// compat finds what the program of seed 000 does not have.
func (v *violations) compat(r Request) {
	if !r.Compat {
		return
	}
	const never = "must not be given with COMPAT: the program that it follows has no such thing"
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"summary", r.Work.Summary != ""}, {"memory", r.Work.Memory != ""}, {"blocks", len(r.Blocks) > 0}, {"note_depth", r.noteDepth() != 0},
		{"text_percent", r.TextPercent != 0}, {"sets", len(r.Sets) > 0}, {"lenient_body", r.LenientBody},
	} {
		if f.given {
			v.add(f.name, never)
		}
	}
	if r.Neutralize {
		v.add("neutralize", "must not be given with COMPAT, which changes no byte")
	}
}

// CheckCount finds everything that is wrong with the texts of a count.
func CheckCount(texts []string) []Violation {
	var all violations
	if n := len(texts); n > MaxCountTexts {
		all.add("texts", "has %d items; the limit is %d", n, MaxCountTexts)
	}
	bytes := 0
	for _, text := range texts {
		bytes += len(text)
	}
	all.total("texts", bytes, MaxBody)
	return all
}

type violations []Violation

func (v *violations) add(field, format string, args ...any) {
	*v = append(*v, Violation{Field: field, Description: fmt.Sprintf(format, args...)})
}

func (v *violations) size(field, text string, limit int) { v.total(field, len(text), limit) }

// total refuses texts that are longer than so many bytes together, in the words of flowstore and agent.
func (v *violations) total(field string, bytes, limit int) {
	switch {
	case bytes <= limit:
	case limit >= 1<<20:
		v.add(field, "is %d bytes long; the limit is %d bytes (%d MiB)", bytes, limit, limit>>20)
	default:
		v.add(field, "is %d bytes long; the limit is %d bytes", bytes, limit)
	}
}

// setName is what a set may be called, so that `{@name}` finds it.
var setName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_-]{0,63}$`)

func (v *violations) sets(r Request) {
	if n := len(r.Sets); n > MaxSets {
		v.add("sets", "are %d sets; at most %d are allowed", n, MaxSets)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.Sets)) {
		field := fmt.Sprintf("sets[%q]", name)
		if !setName.MatchString(name) {
			v.add(field, "cannot be the name of a set: 1 to 64 letters, digits, _ and -, beginning with a letter or _")
		}
		if n := len(r.Sets[name]); n == 0 || n > MaxSetOptions {
			v.add(field, "has %d options; 1 to %d are allowed", n, MaxSetOptions)
			continue
		}
		for i, option := range r.Sets[name] {
			v.size(fmt.Sprintf("%s.options[%d]", field, i), option, MaxItem)
		}
	}
}

func (v *violations) picks(r Request) {
	if n := len(r.Picks); n > MaxGroups {
		v.add("picks", "are %d picks; at most %d are allowed", n, MaxGroups)
		return
	}
	names := map[string]bool{}
	for _, f := range r.drawn() {
		names[f.name] = true
	}
	type group struct {
		field string
		n     int
	}
	first := map[group]int{}
	for i, p := range r.Picks {
		g := group{p.Field, p.Group}
		if before, twice := first[g]; twice {
			v.add(fmt.Sprintf("picks[%d].group", i), "is %d of %.60q, which picks[%d] names too; a group has one pick", p.Group, p.Field, before)
		} else {
			first[g] = i
		}
		if !names[p.Field] {
			v.add(fmt.Sprintf("picks[%d].field", i), "is %.60q; it must be a field in which dynamic prompts are drawn, such as story.title or body", p.Field)
		}
	}
}

// groups notes what is malformed in the dynamic prompts of a request, and the field in which they become too many. Fields that
// are wrong by themselves, such as those that are too long, are not read.
func (v *violations) groups(r Request) {
	wrong := map[string]bool{}
	for _, found := range *v {
		wrong[found.Field] = true
	}
	groups, full := 0, false
	for _, f := range r.drawn() {
		if list, _, _ := strings.Cut(f.name, "["); wrong[f.name] || wrong[list] {
			continue
		}
		template, err := r.parse(f)
		if malformed := (*dynamic.SyntaxErrors)(nil); errors.As(err, &malformed) {
			v.malformed(f.name, malformed)
			continue
		}
		if groups += template.Groups(); groups > MaxGroups && !full {
			full = true
			v.add(f.name, "brings the request to more than %d groups like {A|B}, which is the limit", MaxGroups)
		}
	}
}

func (v *violations) malformed(field string, all *dynamic.SyntaxErrors) {
	for _, one := range all.Told {
		v.add(field, "%s", one)
	}
	if all.More > 0 {
		v.add(field, "holds %d more groups that are malformed", all.More)
	}
}
