package main

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// read gives the parts of a node or flow as the service tells them, of one in the trash and one that was purged that it is; none
// of one that was never there.
func (s *server) read(ctx context.Context, thing string) (map[string]string, error) {
	var parts map[string]string
	var err error
	if strings.HasPrefix(thing, "flows/") {
		var f *flowstorev1.Flow
		if f, err = s.client.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: thing}); err == nil {
			parts = flowParts(f)
		}
	} else {
		var n *flowstorev1.Node
		if n, err = s.client.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: thing}); err == nil {
			parts = nodeParts(n)
		}
	}
	if err != nil {
		return goneParts(err)
	}
	return parts, nil
}

// goneParts gives the parts of what is not there any more, out of the answer that says so.
func goneParts(err error) (map[string]string, error) {
	if e, ok := apierr.FromStatus(err); ok {
		switch {
		case e.Reason == "DELETED":
			return map[string]string{partTrash: isThere}, nil
		case e.Reason == "PURGED":
			return map[string]string{partPurged: e.Metadata["purge_reason"]}, nil
		case e.Code == codes.NotFound:
			return nil, nil
		}
	}
	return nil, err
}

func nodeParts(n *flowstorev1.Node) map[string]string {
	return map[string]string{partText: saying{n.GetModel(), n.GetTags(), textsOf(n)}.value()}
}

func textsOf(n *flowstorev1.Node) []string {
	texts := make([]string, 0, 2*len(n.GetTexts()))
	for _, t := range n.GetTexts() {
		texts = append(texts, t.GetRole(), t.GetContent())
	}
	return texts
}

func nodeFileParts(n node.Node) map[string]string {
	texts := make([]string, 0, 2*len(n.Texts))
	for _, t := range n.Texts {
		texts = append(texts, t.Role, t.Content)
	}
	return map[string]string{partText: saying{n.Model, n.Tags, texts}.value()}
}

func flowParts(f *flowstorev1.Flow) map[string]string {
	names := map[int]string{}
	for _, n := range f.GetNodes() {
		names[int(n.GetIndex())] = n.GetNode()
	}
	parts := map[string]string{partIs: isThere, partDescription: f.GetDescription(), partCurrent: f.GetCurrent()}
	edges := make([]flow.Edge, 0, len(f.GetEdges()))
	for _, e := range f.GetEdges() {
		edges = append(edges, flow.Edge{From: int(e.GetFrom()), To: int(e.GetTo()), Name: e.GetDisplayName()})
	}
	addMembers(parts, names, edges)
	for _, h := range f.GetHeads() {
		parts[prefixHead+h.GetDisplayName()] = h.GetNode()
	}
	for _, l := range f.GetLinks() {
		parts[prefixLink+l.GetNode()+" "+l.GetFlow()] = isThere
	}
	for _, w := range f.GetWarnings() {
		parts["warning "+w] = w
	}
	return parts
}

func flowFileParts(f flow.Flow) map[string]string {
	names := map[int]string{}
	for _, m := range f.Members {
		names[m.Index] = node.Name(m.Node)
	}
	parts := map[string]string{partIs: isThere, partDescription: f.Description, partCurrent: names[f.Current]}
	addMembers(parts, names, f.Edges)
	for _, h := range f.Heads {
		parts[prefixHead+h.Name] = names[h.Index]
	}
	for _, l := range f.Links {
		parts[prefixLink+names[l.From]+" "+flow.Name(l.Flow)] = isThere
	}
	for _, p := range f.Problems {
		parts["warning "+p] = p
	}
	return parts
}

func addMembers(parts map[string]string, names map[int]string, edges []flow.Edge) {
	parents := map[int]map[string]string{}
	for index := range names {
		parents[index] = map[string]string{}
	}
	for _, e := range edges {
		if parents[e.To] == nil || names[e.From] == "" {
			parts[fmt.Sprintf("edge %d to %d", e.From, e.To)] = "leads nowhere"
			continue
		}
		parents[e.To][names[e.From]] = e.Name
	}
	for index, name := range names {
		parts[prefixMember+name] = continues(parents[index])
	}
}
