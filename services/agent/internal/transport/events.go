package transport

import (
	"errors"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

func event(e generation.Event) *agentv1.GenerateNodeEvent {
	switch e := e.(type) {
	case generation.Opened:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Opened{Opened: opened(e)}}
	case generation.Text:
		return &agentv1.GenerateNodeEvent{Id: int32(e.ID), Event: &agentv1.GenerateNodeEvent_Text{Text: &agentv1.TextPiece{Text: e.Text}}}
	case generation.Detail:
		return &agentv1.GenerateNodeEvent{Id: int32(e.ID), Event: &agentv1.GenerateNodeEvent_NodeDetail{NodeDetail: detail(e)}}
	case generation.Lagged:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Lagged{Lagged: &agentv1.Lagged{Joined: int32(e.Joined)}}}
	case generation.Stored:
		return &agentv1.GenerateNodeEvent{Id: int32(e.ID), Event: &agentv1.GenerateNodeEvent_Stored{
			Stored: stored(e),
		}}
	case generation.Broken:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Failed{Failed: failed(e.Err)}}
	default:
		return &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}}
	}
}

func failed(err error) *agentv1.Failed {
	f := &agentv1.Failed{Reason: reason(fault(err)), Message: sentence(err)}
	var told *apierr.Error
	if errors.As(fault(err), &told) {
		f.Node = told.Metadata["node"]
	}
	return f
}

func stored(s generation.Stored) *agentv1.Stored {
	out := &agentv1.Stored{Node: wire.FromNode(s.Node), Replayed: s.Replayed}
	if c := s.Cache; c != nil {
		out.PromptTokensRead, out.PromptTokensCached = proto.Int32(int32(c.Read)), proto.Int32(int32(c.Cached))
	}
	return out
}

func opened(o generation.Opened) *agentv1.Opened {
	out := &agentv1.Opened{
		Generation:   wire.Name(wire.Generations, o.Generation),
		PromptDigest: o.PromptDigest, PromptTokens: int32(o.PromptTokens),
		Backend: wire.FromIdentity(o.Backend), Sampling: wire.FromSampling(o.Sampling),
		RequestId: wire.Name("", o.RequestID),
		Branch:    o.Branch, Answers: int32(o.Answers), Chat: chatOpened(o.Chat),
	}
	if o.Build != nil {
		out.Build, _ = wire.FromBuilt(*o.Build) // what wire.Built wrote can be read
	}
	return out
}
