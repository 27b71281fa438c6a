// Package template holds the default texts of prompts by id and language, and fills them (field/systemprompt-rules.md 3.4).
package template

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

//go:embed ja.json en.json
var files embed.FS

// defaults are the texts by language and id.
var defaults = func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, locale := range []string{Japanese, English} {
		data, err := files.ReadFile(locale + ".json")
		var texts map[string]string
		if err = errors.Join(err, json.Unmarshal(data, &texts)); err != nil {
			panic(fmt.Sprintf("the texts %s.json: %v", locale, err)) // They are part of the program, and a test reads them.
		}
		all[locale] = texts
	}
	return all
}()

// The languages that there are texts in.
const (
	Japanese = "ja"
	English  = "en"
)

// Locale gives the language of the texts for a tag of BCP 47: Japanese for `ja`, whatever follows, and for none, else English.
// The error says that the tag is none.
func Locale(tag string) (string, error) {
	if tag == "" {
		return Japanese, nil
	}
	t, err := language.Parse(tag)
	if err != nil {
		return "", fmt.Errorf("is no language tag (BCP 47), such as ja or en-US: %w", err)
	}
	if base, _ := t.Base(); base.String() == Japanese {
		return Japanese, nil
	}
	return English, nil
}

// IDs gives the ids of all texts, sorted.
func IDs() []string { return slices.Sorted(maps.Keys(defaults[Japanese])) }

// Texts are the texts that hold for a request.
type Texts struct {
	locale string
	own    map[string]string
}

// New gives the texts of a locale that Locale gave, with the caller's own in place of some, cleaned. CheckOwn finds nothing wrong in these.
func New(locale string, own map[string]string) Texts {
	cleaned := map[string]string{}
	for id, text := range own {
		cleaned[id] = clean(id, text).Text
	}
	return Texts{locale, cleaned}
}

// clean cleans a text of the caller as all texts of several lines are. One whose default has blanks at its ends in some language, which
// part it from what it is joined to, keeps them.
func clean(id, text string) passage.Cleaned {
	for _, texts := range defaults {
		if passage.Body(texts[id]).Text != texts[id] {
			return passage.Piece(text)
		}
	}
	return passage.Body(text)
}

// Cleaned tells, by id, what was taken out of texts of the caller or replaced in them, but for ends of lines and what is blank at their ends.
func Cleaned(own map[string]string) []Change {
	var all []Change
	for _, id := range slices.Sorted(maps.Keys(own)) {
		if what := clean(id, own[id]).Changes(); what != "" {
			all = append(all, Change{id, what})
		}
	}
	return all
}

// Change is what cleaning did to a text of the caller.
type Change struct{ ID, What string }

// Text gives the text of an id that there is.
func (t Texts) Text(id string) string {
	if own, ok := t.own[id]; ok {
		return own
	}
	return defaults[t.locale][id]
}

// Fill puts values in place of the placeholders of a text that the default text has, in one pass: nothing in a value is filled.
func (t Texts) Fill(id string, values map[string]string) string {
	return FillText(t.Text(id), values)
}

// Lines gives those lines of a text whose placeholders all have values, filled; a line without any stays.
func (t Texts) Lines(id string, values map[string]string) string {
	var lines []string
	for line := range strings.SplitSeq(t.Text(id), "\n") {
		if !slices.ContainsFunc(placeholder.FindAllStringSubmatch(line, -1), func(m []string) bool { _, ok := values[word(m[0])]; return !ok }) {
			lines = append(lines, FillText(line, values))
		}
	}
	return strings.Join(lines, "\n")
}

// placeholder is a word in braces.
var placeholder = regexp.MustCompile(`\{([a-z_]+|プロンプト全文|回答全文)\}`)

// word is what a placeholder is called, whose braces may be around it: those that seed 004, 7.2 writes in Japanese have a second name.
func word(m string) string {
	switch m = strings.Trim(m, "{}"); m {
	case "プロンプト全文":
		return "prompt"
	case "回答全文":
		return "answer"
	}
	return m
}

// FillText fills a text that is a piece of one.
func FillText(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		if value, ok := values[word(m)]; ok {
			return value
		}
		return m
	})
}

// Placeholders gives the words that a text may have as placeholders, in the order in which they stand in the default text first.
func Placeholders(locale, id string) []string {
	var words []string
	for _, m := range placeholder.FindAllStringSubmatch(defaults[locale][id], -1) {
		if w := word(m[0]); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// Lost tells, by id, which texts of the caller have not all placeholders of the default text: what stands for those is in no prompt.
func Lost(locale string, own map[string]string) []Wrong {
	var all []Wrong
	for _, id := range slices.Sorted(maps.Keys(own)) {
		text := clean(id, own[id]).Text
		lost := slices.DeleteFunc(Placeholders(locale, id), func(w string) bool {
			return slices.ContainsFunc(placeholder.FindAllString(text, -1), func(m string) bool { return word(m) == w })
		})
		if len(lost) > 0 {
			all = append(all, Wrong{id, "this text of the request has no {" + strings.Join(lost, "}, {") + "}: what stands for it by default is not printed"})
		}
	}
	return all
}

// required are placeholders that a text may not lose: what they stand for is never left out of a prompt.
var required = map[string]string{"main.five": "constraints", "main.pending": "pending_approvals"}

// needed are texts that may not be empty, with the reason.
var needed = map[string]string{"identity": "it is in every prompt", "main.output": "it is the form in which the model answers"}

// Wrong is what is wrong with a text, or a value, of the caller.
type Wrong struct{ ID, Problem string }

// maxText bounds a text, in bytes.
const maxText = 64 << 10

// CheckOwn finds what is wrong with texts of the caller, by id: ids that there are not, placeholders that the text does not
// have, those that it must keep, and texts that are empty and may not be.
func CheckOwn(locale string, own map[string]string) []Wrong {
	var all []Wrong
	for _, id := range slices.Sorted(maps.Keys(own)) {
		text := own[id]
		if _, ok := defaults[locale][id]; !ok {
			all = append(all, Wrong{id, "there is no such text; there are " + strings.Join(IDs(), ", ")})
			continue
		}
		if len(text) > maxText {
			all = append(all, Wrong{id, fmt.Sprintf("must have at most %d bytes, and has %d", maxText, len(text))})
			continue
		}
		text = clean(id, text).Text
		words := Placeholders(locale, id)
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(words, word(m[0])) {
				all = append(all, Wrong{id, fmt.Sprintf("has {%s}; %s", m[1], known(words))})
			}
		}
		if word := required[id]; word != "" && !strings.Contains(text, "{"+word+"}") {
			all = append(all, Wrong{id, fmt.Sprintf("must keep {%s}, which is never left out of a prompt", word)})
		}
		if why := needed[id]; why != "" && passage.Line(text) == "" {
			all = append(all, Wrong{id, "must not be empty: " + why})
		}
	}
	return all
}

// Render fills the default text of an id that there is. wrong names the values that are missing, and those that it has no
// placeholder for, by their words.
func Render(locale, id string, values map[string]string) (text string, wrong []Wrong) {
	words := Placeholders(locale, id)
	for _, w := range words {
		if _, ok := values[w]; !ok {
			wrong = append(wrong, Wrong{w, "is missing; " + known(words)})
		}
	}
	for _, w := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(words, w) {
			wrong = append(wrong, Wrong{w, "is no placeholder of it; " + known(words)})
		}
	}
	return New(locale, nil).Fill(id, values), wrong
}

func known(words []string) string {
	if len(words) == 0 {
		return "this text has no placeholders"
	}
	return "this text may have {" + strings.Join(words, "}, {") + "}"
}
