package client

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

const (
	collection = "flows/"
	// maxName is the longest name of a flow, in characters.
	maxName = 256
	// maxTold is how many flows an error names.
	maxTold = 10
)

// IsFlow says that a text is what flows are known by: `flows/` and whatever, or a UUID.
func IsFlow(text string) bool {
	id, named := strings.CutPrefix(text, collection)
	return named || isUUID(id)
}

func isUUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == 36
}

// Resolve gives the name, `flows/{uuid}`, of the flow that a person means: by that name, by its UUID, or by what it is called,
// letter for letter, where one flow alone is called so (field/flowstore.md row 25). *NoFlowError, *AmbiguousError; otherwise
// the error is that of the call.
func Resolve(ctx context.Context, flows flowstorev1.FlowStoreServiceClient, text string) (string, error) {
	id := strings.TrimPrefix(text, collection)
	switch {
	case isUUID(id):
		return collection + strings.ToLower(id), nil
	case IsFlow(text), text == "", utf8.RuneCountInString(text) > maxName:
		return "", &NoFlowError{Text: text}
	}
	found := found{text: text}
	req := &flowstorev1.ListFlowsRequest{DisplayNameContains: text, PageSize: 1000}
	for {
		page, err := flows.ListFlows(ctx, req)
		if err != nil {
			return "", err
		}
		for _, item := range page.GetFlows() {
			found.take(item)
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return found.one()
		}
	}
}

// found are the flows that have a text in their names.
type found struct {
	text string
	// same are the flows that are called so, similar a few that are called something longer.
	same, similar []*flowstorev1.Flow
	unreadable    int
}

func (f *found) take(item *flowstorev1.FlowItem) {
	switch flow := item.GetFlow(); {
	case item.GetProblem() != "":
		f.unreadable++
	case flow.GetDisplayName() == f.text:
		f.same = append(f.same, flow)
	case len(f.similar) < maxTold:
		f.similar = append(f.similar, flow)
	}
}

func (f *found) one() (string, error) {
	switch len(f.same) {
	case 0:
		return "", &NoFlowError{Text: f.text, Similar: f.similar, Unreadable: f.unreadable}
	case 1:
		return f.same[0].GetName(), nil
	}
	return "", &AmbiguousError{Text: f.text, Flows: f.same}
}

// NoFlowError says that no flow is known by a text, nor called so.
type NoFlowError struct {
	Text string
	// Similar are a few flows that have the text in their names, whatever case and width.
	Similar []*flowstorev1.Flow
	// Unreadable is how many flows have a file that cannot be read: nobody knows what they are called.
	Unreadable int
}

func (e *NoFlowError) Error() string {
	if IsFlow(e.Text) {
		return fmt.Sprintf("%.80q is not a flow: it must be flows/ and a UUID, or the UUID, or what the flow is called", e.Text)
	}
	text := fmt.Sprintf("no flow is called %.80q", e.Text)
	if len(e.Similar) > 0 {
		text += "; there are:" + listed(e.Similar)
	}
	if e.Unreadable > 0 {
		text += fmt.Sprintf("; flows that cannot be read, whose names nobody knows: %d", e.Unreadable)
	}
	return text
}

// AmbiguousError says that several flows are called so.
type AmbiguousError struct {
	Text  string
	Flows []*flowstorev1.Flow
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d flows are called %.80q; take one by its id:%s", len(e.Flows), e.Text, listed(e.Flows))
}

// listed names flows, one on a line, with what tells them apart.
func listed(flows []*flowstorev1.Flow) string {
	var b strings.Builder
	for _, f := range flows[:min(len(flows), maxTold)] {
		fmt.Fprintf(&b, "\n  %s  %s", f.GetName(), f.GetDisplayName())
		if at := f.GetUpdateTime(); at != nil {
			fmt.Fprintf(&b, "  (%s)", at.AsTime().Format("2006-01-02 15:04 MST"))
		}
	}
	if more := len(flows) - maxTold; more > 0 {
		fmt.Fprintf(&b, "\n  … %d more", more)
	}
	return b.String()
}
