package wire

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

// The prefixes of enums.
const (
	nodeForm     = "NODE_FORM_"
	summaryState = "SUMMARY_STATE_"
)

// IDs are UUIDs as promptbuilder takes them.
func IDs(ids []uuid.UUID) []string {
	var all []string
	for _, id := range ids {
		all = append(all, id.String())
	}
	return all
}

// ContextNode writes what promptbuilder is told of a node.
func ContextNode(n nodecontext.Excerpt) *promptbuilderv1.ContextNode {
	return &promptbuilderv1.ContextNode{Id: n.ID.String(), Prompt: n.Prompt, Answer: n.Answer, Summary: n.Summary, Stale: n.Stale, Tags: n.Tags}
}

// Context reads a context.
func Context(b *promptbuilderv1.BuildContextResponse) (nodecontext.Built, error) {
	out := nodecontext.Built{
		Text: b.GetText(), Bytes: int(b.GetBytes()), SHA256: b.GetSha256(), Tokens: int(b.GetTokens()), Counter: b.GetCounter(), Exact: b.GetExact(),
		Dropped: int(b.GetDropped()), DroppedRefs: int(b.GetDroppedRefs()), Forgeable: b.GetForgeable(), CountsUsed: int(b.GetCountsUsed()),
	}
	for _, d := range b.GetDiagnostics() {
		out.Diagnostics = append(out.Diagnostics, nodecontext.Diagnostic{
			Code: d.GetCode(), Section: d.GetSection(), Part: d.GetPart(), Message: d.GetMessage(), Byte: int(d.GetByte()),
		})
	}
	for _, e := range b.GetEntries() {
		id, err := ID(e.GetId())
		if err != nil {
			return nodecontext.Built{}, fmt.Errorf("a node of a context: %w", err)
		}
		out.Entries = append(out.Entries, nodecontext.Entry{
			ID: id, TextID: e.GetTextId(), Reference: e.GetReference(), SummaryCut: e.GetSummaryCut(),
			Form: strings.TrimPrefix(e.GetForm().String(), nodeForm), Summary: strings.TrimPrefix(e.GetSummary().String(), summaryState),
		})
	}
	return out, nil
}

// FromContext writes a context.
func FromContext(b nodecontext.Built) *promptbuilderv1.BuildContextResponse {
	out := &promptbuilderv1.BuildContextResponse{
		Text: b.Text, Bytes: int32(b.Bytes), Sha256: b.SHA256, Tokens: int32(b.Tokens), Counter: b.Counter, Exact: b.Exact,
		Dropped: int32(b.Dropped), DroppedRefs: int32(b.DroppedRefs), Forgeable: b.Forgeable, CountsUsed: int32(b.CountsUsed),
	}
	for _, d := range b.Diagnostics {
		out.Diagnostics = append(out.Diagnostics, &promptbuilderv1.Diagnostic{Code: d.Code, Section: d.Section, Part: d.Part, Byte: int32(d.Byte), Message: d.Message})
	}
	for _, e := range b.Entries {
		out.Entries = append(out.Entries, &promptbuilderv1.ContextEntry{
			Id: e.ID.String(), TextId: e.TextID, Reference: e.Reference, SummaryCut: e.SummaryCut,
			Form:    promptbuilderv1.NodeForm(promptbuilderv1.NodeForm_value[nodeForm+e.Form]),
			Summary: promptbuilderv1.SummaryState(promptbuilderv1.SummaryState_value[summaryState+e.Summary]),
		})
	}
	return out
}
