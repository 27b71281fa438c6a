package transport

import (
	"context"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// maxArguments bounds the arguments of a call, in bytes.
const maxArguments = 1 << 20

// arguments reads the JSON text of a call's arguments.
func arguments(f *apierr.Fields, text string) []byte {
	f.Size("arguments", text, maxArguments)
	if text == "" {
		text = "{}"
	}
	return []byte(text)
}

// ExplainPolicy says what policy makes of a call.
func (s *Server) ExplainPolicy(ctx context.Context, q *agentv1.ExplainPolicyRequest) (*agentv1.PolicyExplanation, error) {
	f := &apierr.Fields{}
	f.Required(q)
	args := arguments(f, q.GetArguments())
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	x, err := s.sessions.Explain(ctx, who(ctx), id, q.GetTool(), args)
	if err != nil {
		return nil, fault(err)
	}
	return explanation(x, s.sessions.LocaleOf(ctx, who(ctx), id)), nil
}

func explanation(x turn.Explained, locale string) *agentv1.PolicyExplanation {
	out := &agentv1.PolicyExplanation{
		Verdict: value[agentv1.Verdict](agentv1.Verdict_value, "VERDICT_", x.Verdict.String()), Policy: x.Explanation.Policy,
		Risk: risks[x.Explanation.Risk.Level], RiskReasons: bullets(x.Explanation.Risk.Sentences(locale)),
	}
	for i, l := range x.Explanation.Looks {
		out.Looks = append(out.Looks, &agentv1.PolicyLook{
			Step: string(l.Step), Rule: l.Rule, Fits: l.Fits, Decided: i == x.Explanation.Decided, Text: l.Sentence(locale),
		})
		if i == x.Explanation.Decided {
			out.Reason = l.Sentence(locale)
		}
	}
	if x.Stop != nil {
		out.StoppedAt, out.StopCode, out.Reason = x.Stop.Step.String(), x.Stop.Code, x.Stop.Reason
	}
	return out
}

// CallTool calls a tool of a session without its model.
func (s *Server) CallTool(ctx context.Context, q *agentv1.CallToolRequest) (*agentv1.CallToolResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	c := turn.Call{Tool: q.GetTool(), Args: arguments(f, q.GetArguments()), DryRun: q.GetDryRun(), Digest: canon.Hash(q.GetDigest()), Unshown: q.GetAcknowledgeUnshown()}
	if c.DryRun && c.Digest != "" {
		f.Add("digest", "goes without dry_run, which gives it")
	}
	if c.Digest != "" && !c.Digest.Valid() {
		f.Add("digest", "must be that of a dry run, 64 of 0-9 and a-f")
	}
	request := text(requestID(f, q.GetRequestId()))
	if c.DryRun && request != "" {
		f.Add("request_id", "goes without dry_run, which changes nothing and may be made again")
	}
	var err error
	if c.Session, err = sessionID(ctx, f, "session", q.GetSession()); err != nil {
		return nil, err
	}
	got, err := s.sessions.Call(ctx, who(ctx), c, request)
	if err != nil {
		return nil, fault(err)
	}
	out := &agentv1.CallToolResponse{Digest: string(got.Digest), Arguments: string(got.Args), Warning: got.Warning, Replayed: got.Replayed}
	if !got.Replayed {
		out.Explanation = explanation(got.Explained, s.sessions.LocaleOf(ctx, who(ctx), c.Session))
	}
	var shown strings.Builder
	for _, p := range got.Pages {
		shown.WriteString(p.Content)
	}
	if out.Diff = shown.String(); got.Approval != nil {
		out.Targets = fromTargets(got.Approval.Subject.Targets)
	}
	if !c.DryRun {
		out.Status, out.Output = string(got.Result.Status), got.Result.Text
	}
	return out, nil
}
