package approval

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// maxPages bounds what is read of one approval: 16 pages of 256 KiB are the 4 MiB of the longest content.
const maxPages = 64

// shown is an approval that was shown whole.
type shown struct {
	*agentv1.Approval
	// contentDigest is that of the last page; empty where there is one page.
	contentDigest string
}

// show shows an approval and all of its pages, which are of one digest.
func (o Options) show(ctx context.Context, agent agentv1.AgentServiceClient, name string) (shown, error) {
	a, err := agent.GetApproval(ctx, &agentv1.GetApprovalRequest{Name: name})
	if err != nil {
		return shown{}, err
	}
	client.Say(o.Out, "%s", told(a))
	out := shown{a, a.GetContent().GetContentDigest()}
	if a.GetContent() == nil {
		client.Say(o.Out, "\nWhat would change is not shown: it is for approvers, and kept for a while.\n")
		return out, nil
	}
	client.Say(o.Out, "\n%s", text(a.GetContent()))
	for page := int32(2); page <= a.GetContent().GetPages(); page++ {
		if page > maxPages {
			return shown{}, fmt.Errorf("%s has %d pages; at most %d are read", name, a.GetContent().GetPages(), maxPages)
		}
		next, err := agent.GetApproval(ctx, &agentv1.GetApprovalRequest{Name: name, Page: page})
		if err != nil {
			return shown{}, err
		}
		if next.GetDigest() != a.GetDigest() {
			return shown{}, fmt.Errorf("%s changed while it was read; look at it again", name)
		}
		client.Say(o.Out, "%s", text(next.GetContent()))
		out.contentDigest = next.GetContent().GetContentDigest()
	}
	return out, nil
}

// text is a page, with a line end.
func text(c *agentv1.ApprovalContent) string {
	switch {
	case c.GetNotShown() != "":
		return "What would change is not shown: " + c.GetNotShown() + "\n"
	case c.GetText() == "" || strings.HasSuffix(c.GetText(), "\n") || c.GetPage() < c.GetPages():
		return c.GetText()
	}
	return c.GetText() + "\n"
}

// page is what is told of an approval.
type page struct{ client.Page }

// told is everything of an approval but its content: whose words each part is stands beside it.
func told(a *agentv1.Approval) string {
	p := &page{}
	p.Line(a.GetName(), fmt.Sprintf("%s, %s", client.Word(a.GetKind(), "APPROVAL_KIND_"), client.Word(a.GetState(), "APPROVAL_STATE_")))
	p.Line("of", a.GetSession())
	p.Line("asked by", a.GetRequester())
	p.Line("arguments changed by", strings.Join(a.GetEditors(), ", "))
	p.Line("tool", a.GetTool())
	p.Line("work folder", a.GetRoot())
	for _, t := range a.GetTargets() {
		p.Line("target", t.GetPath()+hashes(t))
	}
	p.Line("asked because (computed)", a.GetAskedBecause())
	p.points(a)
	p.List("warnings (computed)", a.GetWarnings())
	if risk := client.Word(a.GetRisk(), "RISK_"); len(a.GetRiskReasons()) > 0 {
		p.List("risk (computed): "+risk, a.GetRiskReasons())
	} else {
		p.Line("risk (computed)", risk)
	}
	p.closing(a)
	return p.String()
}

// points are the five that a person goes by: intent, rationale, impact, diff and alternatives.
func (p *page) points(a *agentv1.Approval) {
	p.Line("1 intent (the model's words)", claimed(a.GetIntent()))
	p.Line("2 rationale (the model's words)", claimed(a.GetRationale()))
	p.List("3 impact (computed)", a.GetImpact())
	p.Line("4 diff (computed)", fmt.Sprintf("lines added: %d, taken away: %d", a.GetLinesAdded(), a.GetLinesRemoved()))
	p.List("5 alternatives (computed, or the model's words)", a.GetAlternatives())
}

// closing is what deciding takes, or what was decided.
func (p *page) closing(a *agentv1.Approval) {
	if a.GetContent().GetArguments() != "" {
		p.Line("arguments", a.GetContent().GetArguments())
	}
	for _, s := range a.GetOffers() {
		p.Line("may be allowed further, --scope "+scopeName(s.GetScope()), strings.TrimPrefix(s.GetPath()+". "+s.GetText(), ". "))
	}
	p.Line("waits until", moment(a.GetExpireTime()))
	p.Line("in a message", a.GetWords())
	p.Line("decided", decided(a.GetDecision()))
	p.Line("denied, too late", decided(a.GetLateDenial()))
	p.Line("will never run", a.GetVoidReason())
	p.Line("took the place of", a.GetEditedFrom())
	p.Line("its place was taken by", a.GetReplacedBy())
	p.Line("digest", a.GetDigest())
}

// claimed is a text of the model, with a mark where it said more.
func claimed(c *agentv1.ClaimedText) string {
	if c.GetCut() {
		return c.GetText() + "… (cut: it said more)"
	}
	return c.GetText()
}

// hashes are those of a target before and after, shortened: whole they are in the digest. Who may not read it is told none.
func hashes(t *agentv1.ApprovalTarget) string {
	if t.GetBefore() == "" && t.GetAfter() == "" {
		return ""
	}
	short := func(hash string) string { return client.Cut(cmp.Or(hash, "nothing"), 12) }
	return fmt.Sprintf(", before %s, after %s", short(t.GetBefore()), short(t.GetAfter()))
}

func decided(d *agentv1.DecisionRecord) string {
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("%s by %s at %s", client.Word(d.GetDecision(), "DECISION_"), d.GetDecidedBy(), moment(d.GetDecideTime()))
	if d.GetByWords() {
		text += ", in a message"
	}
	if d.GetReason() != "" {
		text += ": " + d.GetReason()
	}
	return text
}
