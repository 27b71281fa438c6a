package story

import (
	"regexp"
	"slices"
	"strings"
)

// control finds text that a model server reads as a control token, or a model as the form of a prompt: the marks of the
// known wrappings, whatever the family of the model, and BOS, EOS and the like (cases/wannabe.md 34).
var control = func() *regexp.Regexp {
	marks := []string{"<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]"}
	for _, w := range wrappings {
		marks = append(marks, w.Stop...)
	}
	slices.Sort(marks)
	quoted := []string{`<\|[A-Za-z0-9_ ]{1,40}\|>`}
	for _, m := range slices.Compact(marks) {
		quoted = append(quoted, regexp.QuoteMeta(m))
	}
	return regexp.MustCompile(strings.Join(quoted, "|"))
}()

// fences finds lines that begin like the fence around a block, and would end it.
var fences = regexp.MustCompile("(?m)^[ \t]*(`{3,})")

// wide are the full-width forms of the characters with which control tokens begin.
var wide = map[byte]string{'<': "＜", '[': "［", '#': "＃"}

// guard looks for control tokens and fences in the texts of a request, and notes where they are. Where Neutralize asks for
// it, a control token gets the full-width form of its first character, so that it is text, and the fence around blocks,
// which it gives, becomes longer than any inside them.
func (r *Request) guard(d *draws) (blockFence string) {
	blockFence = fence
	always := []*string{&r.Work.Summary, &r.Work.Memory}
	fenced := taskOf(r.Mode, r.Body, r.Work).continues()
	for _, f := range r.guarded() {
		if found := controls(*f.text); found != nil {
			line, token := 1+strings.Count((*f.text)[:found[0][0]], "\n"), (*f.text)[found[0][0]:found[0][1]]
			said := "stands there as a server reads it"
			if r.Neutralize {
				*f.text = neutral(*f.text, found)
				said = "has the full-width form of its first character in the prompt"
			}
			d.warn(ControlText, f.name, "line %d, %d in all: %q looks like a control token and %s", line, len(found), token, said)
		}
		if !fenced && !slices.Contains(always, f.text) || !strings.Contains(*f.text, fence) {
			continue
		}
		longest := ""
		lines := fences.FindAllStringSubmatchIndex(*f.text, -1)
		for _, at := range lines {
			longest = max(longest, (*f.text)[at[2]:at[3]])
		}
		if longest == "" {
			continue
		}
		said := "a fence of its block ends there"
		if r.Neutralize {
			blockFence = max(blockFence, longest+"`")
			said = "the fences around blocks are longer"
		}
		d.warn(FenceInText, f.name, "line %d, %d in all, begins like a fence: %s",
			1+strings.Count((*f.text)[:lines[0][2]], "\n"), len(lines), said)
	}
	return blockFence
}

// controls are where control tokens stand. Few texts hold a character with which one begins.
func controls(text string) [][]int {
	for first := range wide {
		if strings.IndexByte(text, first) >= 0 {
			return control.FindAllStringIndex(text, -1)
		}
	}
	return nil
}

// guarded are the fields whose text reaches the prompt as it is.
func (r *Request) guarded() []field {
	all := append(r.drawn(), field{"summary", &r.Work.Summary}, field{"memory", &r.Work.Memory})
	if r.Work.DialogueLevel != nil {
		level := *r.Work.DialogueLevel
		r.Work.DialogueLevel = &level
		all = append(all, field{"story.dialogue_level", &level})
	}
	return all
}

// neutral puts the full-width form in the place of the first character of each token. The text has as many characters as
// before.
func neutral(text string, found [][]int) string {
	var out strings.Builder
	from := 0
	for _, at := range found {
		out.WriteString(text[from:at[0]])
		out.WriteString(wide[text[at[0]]])
		from = at[0] + 1
	}
	out.WriteString(text[from:])
	return out.String()
}
