package wire

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Node reads a stored node.
func Node(n *flowstorev1.Node) (generation.Node, error) {
	id, err := ParseName(Nodes, n.GetName())
	if err != nil {
		return generation.Node{}, fmt.Errorf("a node without a name: %w", err)
	}
	return generation.Node{
		ID: id, Created: n.GetCreateTime().AsTime(), Texts: Texts(n), Model: n.GetModel(), Tags: n.GetTags(),
		Record: record(n.GetGeneration()), Etag: n.GetEtag(), Summary: summary(n.GetSummary()), Score: n.Score, Note: n.GetNote(), Warnings: n.GetWarnings(),
	}, nil
}

func summary(s *flowstorev1.NodeSummary) generation.Summary {
	out := generation.Summary{Text: s.GetText(), Source: s.GetSource(), Stale: s.GetStale()}
	if t := s.GetBuildTime(); t != nil {
		out.Built = t.AsTime()
	}
	return out
}

// fromSummary gives nil for that of a node that is not stored yet.
func fromSummary(s generation.Summary) *flowstorev1.NodeSummary {
	if s == (generation.Summary{}) {
		return nil
	}
	out := &flowstorev1.NodeSummary{Text: s.Text, Source: s.Source, Stale: s.Stale}
	if !s.Built.IsZero() {
		out.BuildTime = timestamppb.New(s.Built)
	}
	return out
}

// Texts reads what was said in a node.
func Texts(n *flowstorev1.Node) []generation.NodeText {
	texts := make([]generation.NodeText, 0, len(n.GetTexts()))
	for _, t := range n.GetTexts() {
		texts = append(texts, generation.NodeText{
			Role: t.GetRole(), Content: t.GetContent(),
			Tokens: int(t.GetTokenCount()), Duration: duration(t.GetDurationSeconds()), Rate: t.GetTokensPerSecond(),
		})
	}
	return texts
}

func record(g *flowstorev1.Generation) *generation.Record {
	if g == nil {
		return nil
	}
	return &generation.Record{
		Backend: Identity(g.GetBackend()), PromptDigest: g.GetPromptDigest(), Task: g.GetTask(),
		PickSeed: g.GetPickSeed(), Picks: g.GetPicks(), Sampling: Sampling(g.GetSampling()),
		PromptTokens: int(g.GetPromptTokens()), CachedTokens: int(g.GetCachedTokens()), AnswerTokens: int(g.GetAnswerTokens()),
		PromptTime: duration(g.GetPromptSeconds()), AnswerTime: duration(g.GetAnswerSeconds()),
		Finish: generation.Finish(g.GetFinishReason()), Fault: llm.Fault(g.GetFault()), Branch: g.GetBranch(), Error: g.GetError(), RequestDigest: g.GetRequestDigest(),
	}
}

// FromNode writes a node. The time is left out of one that is not stored yet.
func FromNode(n generation.Node) *flowstorev1.Node {
	out := &flowstorev1.Node{
		Name: Name(Nodes, n.ID), Model: n.Model, Tags: n.Tags, Generation: fromRecord(n.Record),
		Etag: n.Etag, Summary: fromSummary(n.Summary), Score: n.Score, Note: n.Note, Warnings: n.Warnings,
	}
	if !n.Created.IsZero() {
		out.CreateTime = timestamppb.New(n.Created)
	}
	for _, t := range n.Texts {
		out.Texts = append(out.Texts, &flowstorev1.Text{
			Role: t.Role, Content: t.Content,
			TokenCount: int32(t.Tokens), DurationSeconds: seconds(t.Duration), TokensPerSecond: t.Rate,
		})
	}
	return out
}

func fromRecord(r *generation.Record) *flowstorev1.Generation {
	if r == nil {
		return nil
	}
	return &flowstorev1.Generation{
		Backend: FromIdentity(r.Backend), PromptDigest: r.PromptDigest, Task: r.Task,
		PickSeed: r.PickSeed, Picks: r.Picks, Sampling: FromSampling(r.Sampling),
		PromptTokens: int32(r.PromptTokens), CachedTokens: int32(r.CachedTokens), AnswerTokens: int32(r.AnswerTokens),
		PromptSeconds: seconds(r.PromptTime), AnswerSeconds: seconds(r.AnswerTime),
		FinishReason: string(r.Finish), Fault: string(r.Fault), Branch: r.Branch, Error: r.Error, RequestDigest: r.RequestDigest,
	}
}

// seconds is the number that a file with these digits is read as: Duration.Seconds adds two numbers and may be off in the last place.
func seconds(d time.Duration) float64 { return float64(d) / float64(time.Second) }

func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}
