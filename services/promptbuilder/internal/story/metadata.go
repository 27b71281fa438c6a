package story

import "strings"

// told says that the writer gave metadata. Texts count when something stands in them, lists by their length, the
// dialogue level by being there; note and rating do not count (seed 000, 2.4; field/wannabe.md 1.3). Summary and memory, which
// seed 000 does not have, are texts.
func (w Work) told() bool {
	for _, text := range []string{w.Title, w.Synopsis, w.Setting, w.Plot, w.Summary, w.Memory} {
		if strip(text) != "" {
			return true
		}
	}
	return len(w.Keywords) > 0 || len(w.Genres) > 0 || w.DialogueLevel != nil
}

// fields are the story fields that are metadata, in their order: the field of the request, its name in the prompt, its value.
func (w Work) fields() []metadatum {
	level := ""
	if w.DialogueLevel != nil {
		level = *w.DialogueLevel
	}
	return []metadatum{
		{"title", "タイトル", w.Title}, {"keywords", "キーワード", tags(w.Keywords)}, {"genres", "ジャンル", tags(w.Genres)}, {"synopsis", "あらすじ", w.Synopsis},
		{"setting", "設定", w.Setting}, {"plot", "プロット", w.Plot}, {"dialogue_level", "セリフ量", level},
	}
}

type metadatum struct{ field, name, value string }

// text is what stands of a field in the prompt; nothing for nothing.
func (m metadatum) text() string {
	if value := strip(m.value); value != "" {
		return "# " + m.name + ":\n" + value
	}
	return ""
}

// betweenFields stands between two story fields.
const betweenFields = "\n\n"

// metadata is the text of the story fields (seed 000, 2.6.1).
func (w Work) metadata() string {
	var all []string
	for _, f := range w.fields() {
		if text := f.text(); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, betweenFields)
}

// fieldAt is the field of the request whose text in the metadata, or the space behind it, holds an offset; that behind the
// last is the last's.
func (w Work) fieldAt(offset int) string {
	field := "story"
	for _, f := range w.fields() {
		if text := f.text(); text != "" {
			field = "story." + f.field
			if offset -= len(text + betweenFields); offset < 0 {
				break
			}
		}
	}
	return field
}

// tags puts one tag on a line, without quotes at its ends; blank ones are left out (field/wannabe.md 1.2).
func tags(items []string) string {
	var all []string
	for _, item := range items {
		if tag := strings.Trim(item, `"`); strip(tag) != "" {
			all = append(all, tag)
		}
	}
	return strings.Join(all, "\n")
}
