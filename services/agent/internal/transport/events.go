package transport

import (
	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
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
		out.Build, _ = wire.FromBuilt(*o.Build) // what wire.Built wrote can be read
	}
	return out
}
