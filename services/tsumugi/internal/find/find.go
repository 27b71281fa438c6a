// Package find is `tsumugi search`: nodes by what stands in them, on a screen.
package find

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// MaxNodes is the most nodes that are told; whoever wants more asks for less at a time.
const MaxNodes = 10_000

// Options of a search.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Query is what is looked for, in the language of docs/search.md.
	Query string
	// Nodes is how many nodes are told, 1 to MaxNodes.
	Nodes int
	// Out is where they are told.
	Out io.Writer
}

// Run tells what was found. An error is a sentence that says what to do; to find nothing is none.
func Run(ctx context.Context, o Options) error {
	if o.Nodes < 1 || o.Nodes > MaxNodes {
		return fmt.Errorf("--nodes is %d; it must be 1 to %d", o.Nodes, MaxNodes)
	}
	return client.Ask(o.Addr, o.Token, func(flows flowstorev1.FlowStoreServiceClient) error { return o.search(ctx, flows) })
}

func (o Options) search(ctx context.Context, nodes flowstorev1.FlowStoreServiceClient) error {
	const page = 100
	req := &flowstorev1.SearchNodesRequest{Query: o.Query}
	told, heading := 0, true
	for {
		req.PageSize = int32(min(o.Nodes-told, page))
		found, err := nodes.SearchNodes(ctx, req)
		if err != nil {
			return err
		}
		if heading {
			o.say("%s\n", total(found))
			if found.GetTotalSize() == 0 {
				o.say("%s", misspelt(o.Query))
			}
			heading = false
		}
		for _, hit := range found.GetHits() {
			o.say("\n%s", lines(hit))
			told++
		}
		if req.PageToken = found.GetNextPageToken(); req.PageToken == "" {
			return nil
		}
		if told == o.Nodes {
			o.say("\n… there are more; --nodes N tells N\n")
			return nil
		}
	}
}

func total(found *flowstorev1.SearchNodesResponse) string {
	if found.GetApproximate() {
		return fmt.Sprintf("nodes: about %d (not all were read, or the search index is not complete yet)", found.GetTotalSize())
	}
	return fmt.Sprintf("nodes: %d", found.GetTotalSize())
}

// filters are those of docs/search.md.
var filters = []string{"tag", "model", "role", "flow", "after", "before"}

var likeFilter = regexp.MustCompile(`(?:^|[\s\pZ])[-－]?(\pL+)[:：]`)

// misspelt tells what in a query looks like a filter and was looked for as a word; nothing where all are filters.
func misspelt(query string) string {
	var b strings.Builder
	for _, found := range likeFilter.FindAllStringSubmatch(query, -1) {
		if !slices.Contains(filters, strings.ToLower(found[1])) {
			fmt.Fprintf(&b, "%s: is no filter, and was looked for as a word; the filters are %s:\n", found[1], strings.Join(filters, ": "))
		}
	}
	return b.String()
}

// lines are a node: its name, when it was made and its tags, and below it the first that was found in each of its texts, or where
// nothing was looked for in them the beginning of the last.
func lines(hit *flowstorev1.SearchHit) string {
	n := hit.GetNode()
	var b strings.Builder
	b.WriteString(n.GetName())
	if at := n.GetCreateTime(); at != nil {
		b.WriteString("  " + at.AsTime().Format("2006-01-02 15:04 MST"))
	}
	for _, tag := range n.GetTags() {
		b.WriteString("  #" + tag)
	}
	b.WriteByte('\n')
	texts, told := n.GetTexts(), -1
	for _, h := range hit.GetHighlights() {
		if at := int(h.GetTextIndex()); at > told && at < len(texts) {
			fmt.Fprintf(&b, "  %s: %s\n", texts[at].GetRole(), marked(h))
			told = at
		}
	}
	if last := len(texts) - 1; told < 0 && last >= 0 {
		fmt.Fprintf(&b, "  %s: %s\n", texts[last].GetRole(), client.OneLine(texts[last].GetContent()))
	}
	return b.String()
}

// marked is a snippet with » and « around what was found, on one line.
func marked(h *flowstorev1.Highlight) string {
	text := []rune(h.GetSnippet())
	start := min(max(int(h.GetOffset()-h.GetSnippetOffset()), 0), len(text))
	end := min(start+int(h.GetLength()), len(text))
	return client.OneLine(string(text[:start]) + "»" + string(text[start:end]) + "«" + string(text[end:]))
}

func (o Options) say(format string, args ...any) {
	client.Say(o.Out, format, args...)
}
