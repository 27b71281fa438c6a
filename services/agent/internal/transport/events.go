package transport

import (
	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
)

func event(e generation.Event) *agentv1.GenerateNodeEvent {
	switch e := e.(type) {
	case generation.Opened:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Opened{Opened: opened(e)}}
	case generation.Text:
		return &agentv1.GenerateNodeEvent{Id: int32(e.ID), Event: &agentv1.GenerateNodeEvent_Text{Text: &agentv1.TextPiece{Text: e.Text}}}
	case generation.Lagged:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Lagged{Lagged: &agentv1.Lagged{Joined: int32(e.Joined)}}}
	case generation.Stored:
		return &agentv1.GenerateNodeEvent{Id: int32(e.ID), Event: &agentv1.GenerateNodeEvent_Stored{
			Stored: &agentv1.Stored{Node: wire.FromNode(e.Node), Replayed: e.Replayed},
		}}
	default:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}}
	}
}

func opened(o generation.Opened) *agentv1.Opened {
	out := &agentv1.Opened{
		Generation:   wire.Name(wire.Generations, o.Generation),
		PromptDigest: o.PromptDigest, PromptTokens: int32(o.PromptTokens),
		Backend: wire.FromIdentity(o.Backend), Sampling: wire.FromSampling(o.Sampling),
		RequestId: wire.Name("", o.RequestID),
	}
	if o.Build != nil {
		out.Build = build(*o.Build)
	}
	return out
}

func build(b generation.Built) *promptbuilderv1.BuildStoryResponse {
	out := &promptbuilderv1.BuildStoryResponse{
		Prompt: b.Prompt, Digest: b.Digest,
		Task:   promptbuilderv1.StoryTask(promptbuilderv1.StoryTask_value["STORY_TASK_"+b.Task]),
		Tokens: int32(b.Tokens), Limit: int32(b.Limit), MaxTokens: int32(b.MaxTokens), CountsUsed: int32(b.CountsUsed),
		Overflow: b.Overflow, Rating: b.Rating, Seed: b.Seed, Backend: wire.FromIdentity(b.Measured), SuffixCharacters: int32(b.Suffix),
	}
	if c := b.Cut; c != nil {
		out.Cut = &promptbuilderv1.Cut{
			Characters: int32(c.Characters), Lines: int32(c.Lines),
			KeptCharacters: int32(c.KeptCharacters), FirstKept: c.FirstKept,
		}
	}
	for _, x := range b.Blocks {
		out.Blocks = append(out.Blocks, &promptbuilderv1.Block{
			Kind:   promptbuilderv1.BlockKind(promptbuilderv1.BlockKind_value["BLOCK_KIND_"+x.Kind]),
			Tokens: int32(x.Tokens), Characters: int32(x.Characters), Estimated: x.Estimated,
		})
	}
	for _, x := range b.Warnings {
		out.Warnings = append(out.Warnings, &promptbuilderv1.Warning{Code: x.Code, Field: x.Field, Message: x.Message})
	}
	for _, x := range b.Picks {
		p := &promptbuilderv1.Pick{Field: x.Field, Group: int32(x.Group), Option: -1, Text: x.Text, Line: int32(x.Line), Column: int32(x.Column)}
		for _, o := range x.Options {
			p.Options = append(p.Options, int32(o))
		}
		if len(p.Options) > 0 {
			p.Option = p.Options[0]
		}
		out.Picks = append(out.Picks, p)
	}
	w := b.Wrapping
	out.Wrapping = &promptbuilderv1.Wrapping{
		Name: w.Name, BeforeInstruction: w.BeforeInstruction, BeforeInput: w.BeforeInput, AfterInput: w.AfterInput,
		BeforeSuffix: w.BeforeSuffix, Stop: w.Stop,
	}
	return out
}
