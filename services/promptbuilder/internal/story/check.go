package story

import (
	"fmt"

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
	// MaxGroups is how many `{A|B}` groups one request may draw.
	MaxGroups = 1000
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
	if rating := r.Work.Rating; rating != "" && rating != RatingGeneral && rating != RatingR18 {
		all.add("story.rating", "must be %q, %q or empty for the default, and is %.20q", RatingGeneral, RatingR18, rating)
	}
	if r.MaxTokens < 0 {
		all.add("max_tokens", "must be 0 for the default or a positive number, and is %d", r.MaxTokens)
	}
	if all == nil {
		all.groups(r)
	}
	return all
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

// groups notes the field in which the draws of a request become too many.
func (v *violations) groups(r Request) {
	groups := 0
	for _, f := range r.drawn() {
		if groups += dynamic.Parse(*f.text).Groups(); groups > MaxGroups {
			v.add(f.name, "brings the request to more than %d groups like {A|B}, which is the limit", MaxGroups)
			return
		}
	}
}
