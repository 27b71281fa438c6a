package transport

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling/wire"
)

// newNode reads a node that is to be made.
func (f *fields) newNode(field string, in *flowstorev1.Node) node.Node {
	f.unnamed(field, in.GetName(), "node_id")
	n := toNode(in)
	f.found(field, n.Check())
	if in.GetEtag() != "" {
		f.Add(field+".etag", "must be empty; a new node has no version yet")
	}
	if in.GetSummary().GetSource() != "" {
		f.Add(field+".summary.source", "must be empty; the summary of a new node is made from its texts later")
	}
	if in.GetSummary().GetText() != "" {
		f.Add(field+".summary.text", "must be empty; the summary of a new node is made from its texts later")
	}
	return n
}

func toNode(in *flowstorev1.Node) node.Node {
	n := node.Node{Model: in.GetModel(), Tags: in.GetTags(), Generation: toGeneration(in.GetGeneration()), Note: in.GetNote()}
	if in != nil {
		n.Score = in.Score
	}
	for _, t := range in.GetTexts() {
		n.Texts = append(n.Texts, node.Text{
			Role: t.GetRole(), Content: t.GetContent(), Count: int(t.GetTokenCount()), Duration: t.GetDurationSeconds(), Rate: t.GetTokensPerSecond(),
		})
	}
	return n
}

func toGeneration(in *flowstorev1.Generation) *node.Generation {
	if in == nil {
		return nil
	}
	b := in.GetBackend()
	return &node.Generation{
		Backend: b.GetBackend(), Kind: b.GetKind(), Address: b.GetAddress(), Model: b.GetModel(), Window: int(b.GetWindow()), Tokenizer: b.GetTokenizer(),
		PromptDigest: in.GetPromptDigest(), Task: in.GetTask(), PickSeed: in.GetPickSeed(), Picks: in.GetPicks(), Sampling: toSampling(in.GetSampling()),
		PromptTokens: int(in.GetPromptTokens()), CachedTokens: int(in.GetCachedTokens()), AnswerTokens: int(in.GetAnswerTokens()),
		PromptSeconds: in.GetPromptSeconds(), AnswerSeconds: in.GetAnswerSeconds(),
		Finish: in.GetFinishReason(), Fault: in.GetFault(), Branch: in.GetBranch(), Error: in.GetError(), RequestDigest: in.GetRequestDigest(),
	}
}

func toSampling(in *flowstorev1.Sampling) *sampling.Sampling {
	if in == nil {
		return nil
	}
	s := wire.Sampling(in)
	return &s
}

func fromNode(n node.Node) *flowstorev1.Node { return fromBrief(node.Brief{Node: n}) }

// fromBrief gives a node in either view.
func fromBrief(b node.Brief) *flowstorev1.Node {
	n := b.Node
	out := &flowstorev1.Node{
		Name: node.Name(n.ID), Etag: b.Etag(), CreateTime: fromTime(n.Created), Model: n.Model, Tags: n.Tags, Generation: fromGeneration(n.Generation),
		Summary: &flowstorev1.NodeSummary{Text: n.Summary.Text, Stale: n.Summary.Stale, BuildTime: fromTime(n.Summary.Built), Source: source(b)},
		Score:   n.Score, Note: n.Note, Warnings: warnings(n.Warnings),
	}
	for _, t := range n.Texts {
		out.Texts = append(out.Texts, &flowstorev1.Text{
			Role: t.Role, Content: t.Content, TokenCount: number(t.Count), DurationSeconds: t.Duration, TokensPerSecond: t.Rate,
		})
	}
	for i, n := range b.Characters {
		out.Texts[i].CharacterCount = number(n)
	}
	out.Summary.CharacterCount = number(b.SummaryCharacters)
	return out
}

// source is that of the texts where all of them are there.
func source(b node.Brief) string {
	if b.Characters != nil {
		return ""
	}
	return b.Source()
}

// fromTime leaves out a time that a hand-made file does not tell, or that the contract cannot.
func fromTime(t time.Time) *timestamppb.Timestamp {
	if stamp := timestamppb.New(t); !t.IsZero() && stamp.IsValid() {
		return stamp
	}
	return nil
}

// number fits a number of a hand-made file into the contract.
func number(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

func fromGeneration(g *node.Generation) *flowstorev1.Generation {
	if g == nil {
		return nil
	}
	out := &flowstorev1.Generation{
		PromptDigest: g.PromptDigest, Task: g.Task, PickSeed: g.PickSeed, Picks: g.Picks, Sampling: fromSampling(g.Sampling),
		PromptTokens: number(g.PromptTokens), CachedTokens: number(g.CachedTokens), AnswerTokens: number(g.AnswerTokens),
		PromptSeconds: g.PromptSeconds, AnswerSeconds: g.AnswerSeconds,
		FinishReason: g.Finish, Fault: g.Fault, Branch: g.Branch, Error: g.Error, RequestDigest: g.RequestDigest,
	}
	backend := &commonv1.BackendIdentity{
		Backend: g.Backend, Kind: g.Kind, Address: g.Address, Model: g.Model, Window: number(g.Window), Tokenizer: g.Tokenizer,
	}
	if proto.Size(backend) > 0 {
		out.Backend = backend
	}
	return out
}

func fromSampling(s *sampling.Sampling) *flowstorev1.Sampling {
	if s == nil {
		return nil
	}
	return wire.FromSampling(*s)
}
