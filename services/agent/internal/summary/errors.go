package summary

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// NodeError says what is wrong with one node alone; the others can go on. Reason is in the words of the contract.
type NodeError struct{ Reason, Message string }

func (e *NodeError) Error() string { return e.Message }

// The reasons of NodeErrors that are found here.
const (
	reasonOverflow = "CONTEXT_OVERFLOW"
	reasonTimeout  = "TIMEOUT"
)

// BackendChangedError says that the model server is not the one that the texts are measured with.
type BackendChangedError struct{ Measured, Found llm.Identity }

func (e *BackendChangedError) Error() string {
	return fmt.Sprintf("the texts are measured with %s (window %d) at %s, and the model server is %s (window %d) at %s",
		e.Measured.Model, e.Measured.Window, e.Measured.Address, e.Found.Model, e.Found.Window, e.Found.Address)
}

// DrainingError says that the service is stopping.
type DrainingError struct{}

func (*DrainingError) Error() string {
	return "the service is stopping; what was told as done is stored, and the same call goes on with the rest"
}

// PanicError is a fault of ours that ended the work.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// messages say to people what is wrong with a reply.
var messages = map[Reason]string{
	NoSummary:  "the reply does not begin with the summary and its label",
	NoTags:     "the reply does not end with the tags and their label",
	ExtraText:  "the reply has more than a summary and tags",
	TooShort:   "the summary is too short",
	TooLong:    "the summary is too long",
	TooFewTags: "there are too few tags",
	TagTooLong: "a tag is too long",
	OverTokens: "the summary has more tokens than summaries.token_limit",
	Cut:        "the reply was not ended within its length",
}
