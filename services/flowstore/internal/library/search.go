package library

import (
	"context"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// What a Highlight shows around what was found, in characters.
const (
	snippetBefore = 30
	snippetLength = 120
)

// Highlight is a piece of a text that a word of a query found. Places and lengths are in characters (code points) of the text as it
// is stored.
type Highlight struct {
	// Text is the number of the text in the node.
	Text, Offset, Length int
	// Snippet is the text around it, which begins at SnippetOffset.
	Snippet       string
	SnippetOffset int
}

// Found is a node that satisfies a query.
type Found struct {
	Listed[node.Brief]
	Highlights []Highlight
	// More says that there are more of them than search.MaxHighlights.
	More bool
}

// FoundPage is one page of what was found; Total, Approximate and Next are those of search.Result.
type FoundPage struct {
	Items       []Found
	Total       int
	Approximate bool
	Next        string
}

// Search finds nodes, in the order of package search. *search.PageError; *search.QueryError for a flow that cannot be told;
// *UnreadableError for one whose file is damaged.
func (l *Library) Search(ctx context.Context, ns string, q *search.Query, page search.Page) (FoundPage, error) {
	r, err := l.store.Search(ctx, ns, q, page)
	if err != nil {
		return FoundPage{}, err
	}
	out := FoundPage{Total: r.Total, Approximate: r.Approximate, Next: r.Next}
	for _, hit := range r.Hits {
		found := Found{More: hit.More}
		n, err := readListed(ctx, ns, hit.ID, func(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
			n, err := l.store.Node(ctx, ns, id)
			return n, named(store.KindNode, id, err)
		})
		if err != nil {
			return FoundPage{}, err
		}
		found.Listed = Listed[node.Brief]{ID: n.ID, Item: n.Item.Brief(), Problem: n.Problem, File: n.File}
		found.Highlights = highlights(n.Item.Texts, hit.Highlights)
		out.Items = append(out.Items, found)
	}
	return out, nil
}

// Tags lists tags, as store.Store does.
func (l *Library) Tags(ctx context.Context, ns, prefix, after string, size int) (store.TagPage, error) {
	return l.store.Tags(ctx, ns, prefix, after, size)
}

// highlights counts what was found in characters. Of a text that changed since, what does not fit is left out.
func highlights(texts []node.Text, found []search.Highlight) []Highlight {
	var out []Highlight
	for _, h := range found {
		if h.Text >= len(texts) || !within(texts[h.Text].Content, h.Start, h.End) {
			continue
		}
		text := texts[h.Text].Content
		offset := utf8.RuneCountInString(text[:h.Start])
		start := back(text, h.Start, snippetBefore)
		before := utf8.RuneCountInString(text[start:h.Start])
		out = append(out, Highlight{
			Text: h.Text, Offset: offset, Length: utf8.RuneCountInString(text[h.Start:h.End]),
			Snippet: ahead(text[start:], snippetLength), SnippetOffset: offset - before,
		})
	}
	return out
}

// within says whether bytes of a text are whole characters.
func within(text string, start, end int) bool {
	whole := func(at int) bool { return at == len(text) || at < len(text) && utf8.RuneStart(text[at]) }
	return start < end && whole(start) && whole(end)
}

// back goes so many characters back from a byte.
func back(text string, at, characters int) int {
	for range characters {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

// ahead cuts a text behind so many characters.
func ahead(text string, characters int) string {
	for at := range text {
		if characters == 0 {
			return text[:at]
		}
		characters--
	}
	return text
}
