package format

import (
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// editWords brings name, description and story from one state of a flow to another. What did not change is not touched.
func editWords(root *yamlx.Node, before, after flow.Flow) {
	if after.Name != before.Name {
		setText(root, "name", after.Name)
	}
	if after.Description != before.Description {
		setText(root, "description", after.Description)
	}
	if !after.Story.Same(before.Story) {
		editStory(root, before.Story, after.Story)
	}
}

func editStory(root *yamlx.Node, before, after flow.Story) {
	story := yamlx.Get(root, "story")
	if story == nil || story.Kind != yamlx.Mapping {
		removeKey(root, "story")
		story = &yamlx.Node{Kind: yamlx.Mapping, Tag: "!!map"}
		insert(root, "story", story)
		before = flow.Story{}
	}
	for _, t := range []struct {
		key      string
		old, now *string
	}{
		{"title", before.Title, after.Title}, {"synopsis", before.Synopsis, after.Synopsis}, {"setting", before.Setting, after.Setting},
		{"plot", before.Plot, after.Plot}, {"note", before.Note, after.Note}, {"dialogue_level", before.DialogueLevel, after.DialogueLevel},
		{"rating", before.Rating, after.Rating},
	} {
		switch {
		case t.now == nil && t.old != nil:
			removeKey(story, t.key)
		case t.now != nil && (t.old == nil || *t.now != *t.old):
			setText(story, t.key, *t.now)
		}
	}
	editList(story, "keywords", before.Keywords, after.Keywords)
	editList(story, "genres", before.Genres, after.Genres)
	if len(story.Content) == 0 {
		removeKey(root, "story")
	}
}

func editList(story *yamlx.Node, key string, before, after []string) {
	switch {
	case slices.Equal(before, after):
		return
	case len(after) == 0:
		removeKey(story, key)
		return
	}
	list := yamlx.Get(story, key)
	if list == nil {
		list = &yamlx.Node{}
		insert(story, key, list)
	}
	// Behind a list, a comment of its line would come to stand at the next key.
	name := story.Content[keyAt(story, key)]
	name.LineComment, list.LineComment = lines(name.LineComment, list.LineComment), ""
	list.Kind, list.Tag, list.Value, list.Style, list.Content = yamlx.Sequence, "!!seq", "", 0, nil
	for _, item := range after {
		list.Content = append(list.Content, quoted(item))
	}
}

// setText gives a key a text, written as EncodeFlow writes it.
func setText(mapping *yamlx.Node, key, text string) {
	n := yamlx.Get(mapping, key)
	if n == nil {
		n = &yamlx.Node{}
		insert(mapping, key, n)
	}
	n.Kind, n.Tag, n.Value, n.Style, n.Content = yamlx.Scalar, "!!str", text, yamlx.DoubleQuoted, nil
	if isBlock(text) {
		n.Style = yamlx.Literal
	}
}

// insert adds a new key, before the nodes where there are any.
func insert(mapping *yamlx.Node, key string, value *yamlx.Node) {
	mapping.Content = slices.Insert(mapping.Content, keyAt(mapping, "nodes"), scalar("!!str", key), value)
}

// removeKey takes a key and its value out of a mapping. Comments on lines of their own stay, at the next key.
func removeKey(mapping *yamlx.Node, key string) {
	at := keyAt(mapping, key)
	if at == len(mapping.Content) {
		return
	}
	left := lines(ownLines(mapping.Content[at]), ownLines(mapping.Content[at+1]))
	mapping.Content = slices.Delete(mapping.Content, at, at+2)
	switch {
	case left == "":
	case at < len(mapping.Content):
		mapping.Content[at].HeadComment = lines(left, mapping.Content[at].HeadComment)
	case at > 0:
		last := mapping.Content[at-2]
		last.FootComment = lines(last.FootComment, left)
	default:
		mapping.HeadComment = lines(mapping.HeadComment, left)
	}
}

// lines joins comments, one below the other.
func lines(a, b string) string { return strings.Trim(a+"\n"+b, "\n") }
