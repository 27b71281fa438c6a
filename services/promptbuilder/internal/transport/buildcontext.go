package transport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// BuildContext makes the text that tells a model of a conversation.
func (s *Server) BuildContext(ctx context.Context, req *promptbuilderv1.BuildContextRequest) (*promptbuilderv1.BuildContextResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	r := toContext(f, "", req)
	for _, v := range nodecontext.Check(r) {
		wrong(f, []story.Violation{story.Violation(v)})
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	counter, err := s.systems.Counter(ctx, r.Backend, r.Counter)
	if err != nil {
		return nil, systemFault(err, "")
	}
	d, err := nodecontext.Fit(ctx, r, counter)
	var over *nodecontext.OverflowError
	if errors.As(err, &over) {
		return nil, contextFault(over, "max_tokens")
	}
	if err != nil {
		return nil, fault(err)
	}
	c, err := d.Context(ctx, counter)
	if err != nil {
		return nil, fault(err)
	}
	res := fromContext(c)
	for _, own := range template.Cleaned(r.Texts) {
		res.Diagnostics = append(res.Diagnostics, &promptbuilderv1.Diagnostic{Code: "text_cleaned", Part: own.ID, Message: own.What})
	}
	counts, _ := counter.Spent()
	res.CountsUsed = int32(counts)
	return res, nil
}

// BuildNodeDetail makes the text that answers a model which asked for a node.
func (s *Server) BuildNodeDetail(_ context.Context, req *promptbuilderv1.BuildNodeDetailRequest) (*promptbuilderv1.BuildNodeDetailResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	d := nodecontext.Detail{
		Locale: req.GetLocale(), ID: req.GetId(), Prompt: req.GetPrompt(), Answer: req.GetAnswer(), MaxChars: int(req.GetMaxChars()), Texts: req.GetTexts(),
	}
	for _, v := range nodecontext.CheckDetail(d) {
		wrong(f, []story.Violation{story.Violation(v)})
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	text, dropped := nodecontext.Show(d)
	return &promptbuilderv1.BuildNodeDetailResponse{Text: text, DroppedCharacters: int32(dropped)}, nil
}

func toContext(f *apierr.Fields, path string, req *promptbuilderv1.BuildContextRequest) nodecontext.Request {
	known(f, path+"layout", req.GetLayout())
	r := nodecontext.Request{
		Backend: req.GetBackend(), Counter: req.GetCounter(), Locale: req.GetLocale(), Path: req.GetPath(), Parents: req.GetParents(), Refs: req.GetRefs(),
		Prompt: req.GetPrompt(), MaxTokens: int(req.GetMaxTokens()), TrimStep: int(req.GetTrimStep()), Texts: req.GetTexts(), LinesOnly: req.GetLinesOnly(),
		Seed: req.GetLayout() == promptbuilderv1.ContextLayout_CONTEXT_LAYOUT_SEED,
	}
	if req != nil {
		r.Ancestors = whole(req.AncestorsMax)
		r.NoDetails = req.Details != nil && !req.GetDetails()
		r.NoCurrent = req.IncludeCurrent != nil && !req.GetIncludeCurrent()
	}
	for _, n := range req.GetNodes() {
		r.Nodes = append(r.Nodes, nodecontext.Node{
			ID: n.GetId(), Prompt: n.GetPrompt(), Answer: n.GetAnswer(), Summary: n.GetSummary(), Stale: n.GetStale(), Tags: n.GetTags(),
		})
	}
	return r
}

func fromContext(c nodecontext.Context) *promptbuilderv1.BuildContextResponse {
	sum := sha256.Sum256([]byte(c.Text))
	res := &promptbuilderv1.BuildContextResponse{
		Text: c.Text, Bytes: int32(len(c.Text)), Sha256: hex.EncodeToString(sum[:]), Tokens: int32(c.Tokens), Counter: c.Counter, Exact: c.Exact,
		Dropped: int32(c.Dropped), DroppedRefs: int32(c.DroppedRefs), Forgeable: c.Forgeable,
	}
	for _, ch := range c.Changes {
		res.Diagnostics = append(res.Diagnostics, &promptbuilderv1.Diagnostic{Code: "text_cleaned", Section: ch.Part, Part: ch.Node, Message: ch.What})
	}
	for _, lost := range c.TextsWithout {
		res.Diagnostics = append(res.Diagnostics, &promptbuilderv1.Diagnostic{Code: "text_without", Part: lost.ID, Message: lost.Problem})
	}
	for _, e := range c.Entries {
		res.Entries = append(res.Entries, &promptbuilderv1.ContextEntry{
			Id: e.ID, TextId: e.TextID, Reference: e.Reference, SummaryCut: e.SummaryCut,
			Form:    promptbuilderv1.NodeForm(number(promptbuilderv1.NodeForm_value, "NODE_FORM_", string(e.Form))),
			Summary: promptbuilderv1.SummaryState(number(promptbuilderv1.SummaryState_value, "SUMMARY_STATE_", string(e.Summary))),
		})
	}
	return res
}
