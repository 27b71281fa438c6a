package transport

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// maxWarnings is how much of what is wrong in a flow's file an answer tells.
const maxWarnings = 100

func toFlow(in *flowstorev1.Flow) flow.Flow {
	return flow.Flow{Name: in.GetDisplayName(), Description: in.GetDescription(), Story: toStory(in.GetStory())}
}

func toStory(in *commonv1.Story) flow.Story {
	if in == nil {
		return flow.Story{}
	}
	return flow.Story{
		Title: in.Title, Keywords: in.Keywords, Genres: in.Genres, Synopsis: in.Synopsis, Setting: in.Setting, Plot: in.Plot,
		Note: in.Note, DialogueLevel: in.DialogueLevel, Rating: in.Rating,
	}
}

func fromFlow(f flow.Flow) *flowstorev1.Flow {
	out := fromFlowHead(f)
	out.Nodes = fromMembers(f.Members)
	for _, e := range f.Edges {
		out.Edges = append(out.Edges, &flowstorev1.Edge{From: int32(e.From), To: int32(e.To), DisplayName: e.Name})
	}
	for _, h := range f.Heads {
		out.Heads = append(out.Heads, &flowstorev1.FlowHead{DisplayName: h.Name, Node: nodeAt(f, h.Index), Index: number(h.Index)})
	}
	for _, l := range f.Links {
		out.Links = append(out.Links, &flowstorev1.FlowLink{Flow: flow.Name(l.Flow), Node: nodeAt(f, l.From), Index: number(l.From)})
	}
	return out
}

// nodeAt gives the name of the node at an index; empty where no node has it.
func nodeAt(f flow.Flow, index int) string {
	if id, held := f.NodeAt(index); held {
		return node.Name(id)
	}
	return ""
}

func fromMembers(members []flow.Member) []*flowstorev1.FlowNode {
	var out []*flowstorev1.FlowNode
	for _, m := range members {
		out = append(out, &flowstorev1.FlowNode{Index: int32(m.Index), Node: node.Name(m.Node)})
	}
	return out
}

// fromFlowHead leaves nodes, edges, heads and links out.
func fromFlowHead(f flow.Flow) *flowstorev1.Flow {
	out := &flowstorev1.Flow{
		Name: flow.Name(f.ID), DisplayName: f.Name, Description: f.Description, Story: fromStory(f.Story),
		CreateTime: fromTime(f.Created), UpdateTime: fromTime(f.Updated), Warnings: warnings(f.Problems), Etag: f.Etag(),
	}
	out.Current = nodeAt(f, f.Current)
	return out
}

func warnings(problems []string) []string {
	if more := len(problems) - maxWarnings; more > 0 {
		return append(problems[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more", more))
	}
	return problems
}

func fromStory(s flow.Story) *commonv1.Story {
	out := &commonv1.Story{
		Title: s.Title, Keywords: s.Keywords, Genres: s.Genres, Synopsis: s.Synopsis, Setting: s.Setting, Plot: s.Plot,
		Note: s.Note, DialogueLevel: s.DialogueLevel, Rating: s.Rating,
	}
	if proto.Size(out) == 0 {
		return nil
	}
	return out
}
