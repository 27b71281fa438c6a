package generation

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// DrainingError says that the service is stopping and begins nothing new.
type DrainingError struct{}

func (*DrainingError) Error() string {
	return "the service is stopping; send the request again in a moment"
}

// NotFoundError says that there is no such generation, running, kept or stored.
type NotFoundError struct{ ID uuid.UUID }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("generations/%s does not exist: nothing runs or is stored under that name", e.ID)
}

// ViaError says which items of `via` are no help in finding the path: all that are on none, or on another than the one
// that the rest chooses.
type ViaError struct {
	Via []uuid.UUID
	// Wrong are indexes in Via, rising.
	Wrong []int
}

func (e *ViaError) Error() string {
	names := make([]string, len(e.Wrong))
	for i, at := range e.Wrong {
		names[i] = fmt.Sprintf("via[%d], nodes/%s", at, e.Via[at])
	}
	return "not on the path to the parent: " + strings.Join(names, "; ")
}

// AmbiguousError says that a node on the path continues several nodes and that `via` does not name exactly one of them.
type AmbiguousError struct {
	Node    uuid.UUID
	Parents []uuid.UUID
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("nodes/%s continues %d nodes; name one of them in via: %s", e.Node, len(e.Parents), join(e.Parents))
}

func join(ids []uuid.UUID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = "nodes/" + id.String()
	}
	return strings.Join(names, ", ")
}

// UnreadableError says that a node on the path cannot be read. Without it the text would silently have a hole.
type UnreadableError struct {
	Node    uuid.UUID
	Problem string
	// Path is its file, seen from the folder of the namespace; empty where that is not known.
	Path string
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("nodes/%s is on the path and cannot be used: %s", e.Node, e.Problem)
}

// BackendChangedError says that the model server is not the one that the prompt was measured with, also after a rebuild.
type BackendChangedError struct{ Measured, Found llm.Identity }

func (e *BackendChangedError) Error() string {
	return fmt.Sprintf("the prompt was measured with %s, but the model server is %s; do promptbuilder and agent read the same backends file?",
		describe(e.Measured), describe(e.Found))
}

// describe names what decides whether two servers measure alike.
func describe(i llm.Identity) string {
	return fmt.Sprintf("%s at %s (%s, window %d, tokenizer %.12s)", i.Model, i.Address, i.Kind, i.Window, i.Tokenizer)
}

// ReusedError says that a request id was used for another request.
type ReusedError struct{ RequestID uuid.UUID }

func (e *ReusedError) Error() string {
	return fmt.Sprintf("request id %s was used for another request; take a new one", e.RequestID)
}

// CutOftenError says that an answer to a request was cut MaxCuts times, each of which is kept, and is not begun once more.
type CutOftenError struct{ RequestID uuid.UUID }

func (e *CutOftenError) Error() string {
	return fmt.Sprintf("an answer to request id %s was cut %d times, which is the most that is kept; take a new one", e.RequestID, MaxCuts)
}

// RangeError says that a watcher asked for events after one that does not exist.
type RangeError struct{ After, Last int }

func (e *RangeError) Error() string {
	return fmt.Sprintf("event %d is not there: the last one is %d", e.After, e.Last)
}

// BusyError says that as many generations run as may run.
type BusyError struct{ Limit int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d generations are running, which is the limit", e.Limit)
}

// OptionsError says that the dynamic prompts have more combinations of options than a request may ask for, or none.
type OptionsError struct {
	// Count is how many were listed, 0 where no group has options; More says that there are more.
	Count int
	More  bool
	Limit int
	// Large: more are not listed as their texts are too long, whatever their number.
	Large bool
}

func (e *OptionsError) Error() string {
	if e.Count == 0 {
		return "the dynamic prompts have no options, so that there is nothing to choose: write a group such as {A|B}, or leave every_option out"
	}
	if e.Large {
		return fmt.Sprintf("the texts of the combinations of options are too long to be listed: %d of them come to 1 MiB, and there are more; make the options shorter, or take some away", e.Count)
	}
	more := ""
	if e.More {
		more = "more than "
	}
	return fmt.Sprintf("the dynamic prompts have %s%d combinations of options, and one request makes answers for at most %d: take options away",
		more, e.Count, e.Limit)
}

// PicksError says that more was drawn in the dynamic prompts than a node keeps, so that the answer could not be stored.
type PicksError struct {
	// Field is the one with the most picks, by promptbuilder's name.
	Field string
	// Count and Bytes are what all picks come to.
	Count, Bytes int
}

func (e *PicksError) Error() string {
	return fmt.Sprintf("the dynamic prompts have %d groups, whose picks take %d bytes without their texts; a node keeps at most %d in %d bytes",
		e.Count, e.Bytes, maxPicks, maxAllPicks)
}

// CutError says why an answer is not whole. It is how a generation ends for its watchers when it was cut.
type CutError struct {
	Generation uuid.UUID
	// Finish is never FinishStop or FinishLength.
	Finish Finish
	// Limit is the limit that was passed; 0 where none was.
	Limit time.Duration
	// Node holds what was received; zero where that was nothing. It has the id of the generation only where the same
	// request is answered with it: after FinishCancelled.
	Node uuid.UUID
	// Err is what the model server did; nil where it is not to blame.
	Err error
}

func (e *CutError) Error() string {
	text := e.reason()
	if e.Node != uuid.Nil {
		text += "; what was received is kept in nodes/" + e.Node.String()
	}
	switch {
	case e.Node == uuid.Nil:
	case e.Finish.final():
		text += ", which is the answer to this request id; another one makes another answer"
	default:
		text += "; the same request makes the answer anew"
	}
	return text
}

// reason is the cause in words, without what became of the text.
func (e *CutError) reason() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Finish == FinishCancelled:
		return "the generation was cancelled"
	case e.Finish == FinishDisconnected:
		return "the last reader of the generation left"
	case e.Finish == FinishShutdown:
		return "the service is stopping"
	case e.Finish == FinishIdle:
		return fmt.Sprintf("the model server was silent for %s", e.Limit)
	default:
		return fmt.Sprintf("the generation took longer than %s", e.Limit)
	}
}

// Unwrap gives what the model server did.
func (e *CutError) Unwrap() error { return e.Err }

// NotStoredError says that there is an answer, but no node. The text can be watched for a while, and the same request
// tries to store it again, unless it is Lost.
type NotStoredError struct {
	Generation uuid.UUID
	// Err is what the store answered.
	Err error
	// Cut is why the answer is not whole; nil when it is.
	Cut *CutError
	// Lost: the service is stopping, and the text goes with its memory.
	Lost bool
}

func (e *NotStoredError) Error() string {
	text := "the answer could not be stored: " + e.Err.Error()
	if e.Cut != nil {
		text = e.Cut.reason() + "; " + text
	}
	if e.Lost {
		return text + "; its text is lost, since the service is stopping, and the same request can be sent again"
	}
	return text + "; it can be watched for a while, and the same request id stores it again"
}

// Unwrap gives what the store answered.
func (e *NotStoredError) Unwrap() error { return e.Err }

// PanicError is a fault of ours. Nothing of it is for the caller.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }
