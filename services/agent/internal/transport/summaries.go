package transport

import (
	"fmt"
	"math"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

const (
	// maxSummarised is how many nodes a request may name.
	maxSummarised = 1000
	// maxLocale bounds a tag of a language, in bytes.
	maxLocale = 256
)

// BuildSummaries makes summaries and tags, and tells each. When the server begins to stop, so does the work.
func (s *Server) BuildSummaries(q *agentv1.BuildSummariesRequest, stream grpc.ServerStreamingServer[agentv1.BuildSummariesEvent]) error {
	ctx := stream.Context()
	ns := namespace.From(ctx)
	req, wrong := summaries(q, s.summaries.Limits.Parallel)
	refusals := s.summaries.Refusals(ctx, ns, req)
	if len(refusals) == 1 && wrong.Len() == 0 {
		return fault(refusals[0])
	}
	for _, err := range refusals {
		wrong.Also(fault(err))
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	defer drainWith(ctx, s.summaries.Drain)()
	return fault(s.summaries.Build(ctx, ns, req, func(e summary.Event) error { return stream.Send(summaryEvent(e)) }))
}

// summaries reads a request and finds everything that can be seen to be wrong with it.
func summaries(q *agentv1.BuildSummariesRequest, parallel int) (summary.Request, *apierr.Fields) {
	f := &apierr.Fields{}
	f.Required(q)
	r := summary.Request{
		Flow:    id(f, "flow", wire.Flows, q.GetFlow()),
		Nodes:   summarised(f, q.GetNodes()),
		Backend: q.GetBackend(), Locale: q.GetLocale(), Parallel: int(q.GetParallel()),
	}
	f.Size("backend", q.GetBackend(), maxBackend)
	f.Size("locale", q.GetLocale(), maxLocale)
	if q.GetFlow() != "" && len(q.GetNodes()) > 0 {
		f.Add("nodes", "not together with flow")
	}
	if n := q.GetParallel(); n < 0 || int(n) > parallel {
		f.Add("parallel", "must be from 1 to %d (summaries.parallel of the agent), or 0 for that, is %d", parallel, n)
	}
	return r, f
}

func summarised(f *apierr.Fields, names []string) []uuid.UUID {
	if len(names) > maxSummarised {
		f.Add("nodes", "has %d items; the limit is %d", len(names), maxSummarised)
		return nil
	}
	ids, seen := make([]uuid.UUID, len(names)), map[uuid.UUID]bool{}
	for i, name := range names {
		field := fmt.Sprintf("nodes[%d]", i)
		ids[i] = id(f, field, wire.Nodes, name)
		switch {
		case name == "":
			f.Add(field, "must be a node")
		case ids[i] != uuid.Nil && seen[ids[i]]:
			f.Add(field, "is there already")
		}
		seen[ids[i]] = true
	}
	return ids
}

func summaryEvent(e summary.Event) *agentv1.BuildSummariesEvent {
	switch e := e.(type) {
	case summary.Begun:
		return &agentv1.BuildSummariesEvent{Event: &agentv1.BuildSummariesEvent_Begun{Begun: &agentv1.SummariesBegun{Total: int32(e.Total)}}}
	case summary.Done:
		return &agentv1.BuildSummariesEvent{Event: &agentv1.BuildSummariesEvent_Done{Done: &agentv1.SummaryDone{
			Name: wire.Name(wire.Nodes, e.ID), Summary: e.Summary, Tags: e.Tags, TagsCut: int32(e.TagsCut), Partial: e.Partial,
			Asked: int32(e.Asked), PromptTokens: int32(e.PromptTokens), AnswerTokens: int32(e.AnswerTokens),
		}}}
	case summary.Skipped:
		return &agentv1.BuildSummariesEvent{Event: &agentv1.BuildSummariesEvent_Skipped{Skipped: &agentv1.SummarySkipped{
			Name: wire.Name(wire.Nodes, e.ID), Reason: skipReasons[e.Why],
		}}}
	case summary.Failed:
		return &agentv1.BuildSummariesEvent{Event: &agentv1.BuildSummariesEvent_Failed{Failed: &agentv1.SummaryFailed{
			Name: wire.Name(wire.Nodes, e.ID), Reason: e.Reason, Message: e.Message,
			Asked: int32(e.Asked), PromptTokens: int32(e.PromptTokens), AnswerTokens: int32(e.AnswerTokens),
		}}}
	case summary.Report:
		return &agentv1.BuildSummariesEvent{Event: &agentv1.BuildSummariesEvent_Report{Report: &agentv1.SummariesReport{
			Done: int32(e.Done), Partial: int32(e.Partial), Skipped: int32(e.Skipped), Failed: int32(e.Failed),
			Asked: int32(e.Asked), PromptTokens: most(e.PromptTokens), AnswerTokens: most(e.AnswerTokens),
		}}}
	default:
		return &agentv1.BuildSummariesEvent{Event: &agentv1.BuildSummariesEvent_Heartbeat{Heartbeat: &agentv1.SummariesHeartbeat{}}}
	}
}

// most is a number, or the largest there is in its place.
func most(n int) int32 { return int32(min(n, math.MaxInt32)) }

// skipReasons has no FailedBefore: where a person asks, a node that failed is tried again.
var skipReasons = map[summary.Why]agentv1.SummarySkipped_Reason{
	summary.Fresh:   agentv1.SummarySkipped_REASON_FRESH,
	summary.Empty:   agentv1.SummarySkipped_REASON_EMPTY,
	summary.Changed: agentv1.SummarySkipped_REASON_CHANGED,
	summary.InWork:  agentv1.SummarySkipped_REASON_IN_WORK,
}
