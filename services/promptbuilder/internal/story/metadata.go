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

// metadata is the text of the story fields (seed 000, 2.6.1).
func (w Work) metadata() string {
	level := ""
	if w.DialogueLevel != nil {
		level = *w.DialogueLevel
	}
	var blocks []string
	for _, f := range []struct{ name, value string }{
		{"タイトル", w.Title}, {"キーワード", tags(w.Keywords)}, {"ジャンル", tags(w.Genres)}, {"あらすじ", w.Synopsis},
		{"設定", w.Setting}, {"プロット", w.Plot}, {"セリフ量", level},
	} {
		if value := strip(f.value); value != "" {
			blocks = append(blocks, "# "+f.name+":\n"+value)
		}
	}
	return strings.Join(blocks, "\n\n")
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
