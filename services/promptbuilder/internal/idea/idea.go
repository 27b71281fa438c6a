// Package idea reads what a model answers to the prompt of an idea: title, keywords, genres, synopsis, setting and plot,
// each under its header (seed 000, 2.4 to 2.6.1; field/wannabe.md 1.5).
//
// Pure. Nothing of the answer is lost: what stands before the first header, under a header that is none of the six, or
// under one that was there before is told beside the fields.
package idea

import (
	"slices"
	"strings"
)

// Field is a part of an idea.
type Field string

// The parts, in the order in which they are asked for.
const (
	Title    Field = "title"
	Keywords Field = "keywords"
	Genres   Field = "genres"
	Synopsis Field = "synopsis"
	Setting  Field = "setting"
	Plot     Field = "plot"
)

// headers are the words over the parts.
var headers = map[Field]string{
	Title: "タイトル", Keywords: "キーワード", Genres: "ジャンル", Synopsis: "あらすじ", Setting: "設定", Plot: "プロット",
}

// Fields gives all parts in their order.
func Fields() []Field { return []Field{Title, Keywords, Genres, Synopsis, Setting, Plot} }

// Header is the line under which a model writes a part, such as `# タイトル:`.
func Header(f Field) string { return "# " + headers[f] + ":" }

// Idea is an answer in its parts.
type Idea struct {
	Title, Synopsis, Setting, Plot string
	Keywords, Genres               []string
	// Missing are the wanted parts that are not there, or are empty.
	Missing []Field
	// Extra is what belongs to none of the parts, in the order of the answer.
	Extra []Extra
	// Rest is what stands behind the last wanted part, from the next header on; it was not read.
	Rest string
}

// Extra is a stretch of an answer that is no part of the idea.
type Extra struct {
	// Header is the line over it, as the model wrote it; empty for what stands before the first header.
	Header string
	Text   string
}

// section is a header and what stands under it.
type section struct {
	field  Field
	header string
	lines  []string
}

// Parse reads an answer. wanted are the parts to look for, all where it is empty: when they have been read, the next
// header ends it, since a model that was asked for a title writes on.
func Parse(text string, wanted []Field) Idea {
	if len(wanted) == 0 {
		wanted = Fields()
	}
	sections, rest := cut(text, wanted)
	idea := Idea{Rest: rest}
	read := map[Field]string{}
	for _, s := range sections {
		value := strings.TrimSpace(strings.Join(s.lines, ""))
		switch _, twice := read[s.field]; {
		case s.field != "" && slices.Contains(wanted, s.field) && (!twice || read[s.field] == ""):
			read[s.field] = value
		case value != "" || s.header != "":
			idea.Extra = append(idea.Extra, Extra{Header: s.header, Text: value})
		}
	}
	idea.Title, idea.Synopsis, idea.Setting, idea.Plot = read[Title], read[Synopsis], read[Setting], read[Plot]
	idea.Keywords, idea.Genres = list(read[Keywords]), list(read[Genres])
	for _, f := range Fields() {
		if slices.Contains(wanted, f) && read[f] == "" {
			idea.Missing = append(idea.Missing, f)
		}
	}
	return idea
}

// cut parts an answer at its headers. It ends at the header behind the last wanted part.
func cut(text string, wanted []Field) (sections []section, rest string) {
	current := section{}
	left := slices.Clone(wanted)
	at := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		field, header, value := headerOf(line)
		if header == "" {
			current.lines = append(current.lines, line)
			at += len(line)
			continue
		}
		if len(left) == 0 {
			return append(sections, current), text[at:]
		}
		sections = append(sections, current)
		current = section{field: field, header: header, lines: []string{value}}
		left = slices.DeleteFunc(left, func(f Field) bool { return f == field })
		at += len(line)
	}
	return append(sections, current), ""
}

// headerOf reads a line as a header: `# タイトル:`, also with more #, in 【】, in bold, with a full-width colon, and with the
// value on the same line. A line with # and a colon is a header whatever it says; the other forms only with a known word.
func headerOf(line string) (field Field, header, value string) {
	header = strings.TrimSpace(line)
	text, marked := strings.CutPrefix(header, "#")
	text = strings.TrimSpace(strings.TrimLeft(text, "#"))
	text = strings.TrimSpace(strings.TrimPrefix(text, "**"))
	if inside, after, ok := strings.Cut(strings.TrimPrefix(text, "【"), "】"); ok && strings.HasPrefix(text, "【") {
		field = fieldOf(inside)
		if field == "" && !marked {
			return "", "", ""
		}
		return field, header, strings.TrimLeft(after, ":： 　")
	}
	word, after, colon := cutColon(text)
	field = fieldOf(word)
	switch {
	case marked && (colon || field != ""), field != "" && colon:
		return field, header, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(after), "**"))
	}
	return "", "", ""
}

func cutColon(text string) (word, after string, ok bool) {
	i := strings.IndexAny(text, ":：")
	if i < 0 {
		return text, "", false
	}
	return text[:i], strings.TrimPrefix(strings.TrimPrefix(text[i:], ":"), "："), true
}

// fieldOf is the part of a word; empty for another word.
func fieldOf(word string) Field {
	word = strings.Trim(word, "* 　")
	for f, header := range headers {
		if word == header {
			return f
		}
	}
	return ""
}

// bullets are what models put before the items of a list.
const bullets = "-*・•●"

// list reads items on lines of their own, or on one line with commas between them.
func list(text string) []string {
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		lines = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("、，,／/", r) })
	}
	var items []string
	for _, line := range lines {
		item := strings.Trim(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), bullets)), `"`)
		if item != "" {
			items = append(items, item)
		}
	}
	return items
}
