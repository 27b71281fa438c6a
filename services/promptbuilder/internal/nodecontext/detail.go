package nodecontext

import (
	"cmp"
	"regexp"
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// Detail asks for a node in full, as the answer to a model that asked for it. Fields are those of BuildNodeDetailRequest.
type Detail struct {
	Locale, ID, Prompt, Answer string
	MaxChars                   int
	Texts                      map[string]string
}

const (
	defaultDetail = 8000
	// minDetail leaves each of two texts that are cut a few characters beside the mark.
	minDetail = 48
	// maxDetail bounds each text, in bytes: what a node may hold.
	maxDetail = 8 << 20
)

var textIDForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})?$`)

// CheckDetail finds what is wrong with a request for a node.
func CheckDetail(d Detail) []Violation {
	c := &checker{}
	if d.ID != "" && !textIDForm.MatchString(d.ID) {
		c.add("id", "must be 8 hex digits or a UUID, and is %.60q", d.ID)
	}
	if d.MaxChars != 0 && d.MaxChars < minDetail {
		c.add("max_chars", "must be at least %d, and is %d", minDetail, d.MaxChars)
	}
	for _, t := range []struct{ field, text string }{{"prompt", d.Prompt}, {"answer", d.Answer}} {
		if len(t.text) > maxDetail {
			c.add(t.field, "must have at most %d bytes, and has %d", maxDetail, len(t.text))
		}
	}
	c.texts(d.Locale, d.Texts)
	return c.wrong
}

// texts checks the language and the caller's texts.
func (c *checker) texts(locale string, own map[string]string) {
	known, err := template.Locale(locale)
	if err != nil {
		c.add("locale", "%v", err)
		known = template.Japanese
	}
	for _, w := range template.CheckOwn(known, own) {
		c.add("texts["+strconv.Quote(w.ID)+"]", "%s", w.Problem)
	}
}

// Show gives a node in full, in which CheckDetail found nothing wrong, and how many characters were left out: both texts together
// have at most MaxChars, shared like those of files, and the head of each stays (field/systemprompt-rules.md 4 and 1.3).
func Show(d Detail) (text string, dropped int) {
	locale, _ := template.Locale(d.Locale) // Checked.
	prompt, answer := passage.Body(d.Prompt).Text, passage.Body(d.Answer).Text
	sizes := []int{passage.Characters.Size(prompt), passage.Characters.Size(answer)}
	given := passage.Share(sizes, cmp.Or(d.MaxChars, defaultDetail))
	prompt, keptPrompt := passage.Characters.CutHead(prompt, given[0])
	answer, keptAnswer := passage.Characters.CutHead(answer, given[1])
	full := template.New(locale, d.Texts).Fill("node", map[string]string{"prompt": prompt, "answer": answer})
	kept := passage.Characters.Size(keptPrompt) + passage.Characters.Size(keptAnswer)
	return passage.Frame("node", `id="`+passage.Attr(d.ID)+`"`, full), sizes[0] + sizes[1] - kept
}
