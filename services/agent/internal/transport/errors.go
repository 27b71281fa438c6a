package transport

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/modelerr"
)

// retryAfter is when to come again where nobody said better.
const retryAfter = time.Second

// maxTokens is the field with the length of the answer.
const maxTokens = "sampling.max_tokens"

// rule says what the caller gets for one type of error; nil for another type.
type rule func(error) error

func on[E error](answer func(E) *apierr.Error) rule {
	return func(err error) error {
		var e E
		if !errors.As(err, &e) {
			return nil
		}
		return answer(e)
	}
}

// table is every error of packages generation, nodecontext and summary, and the faults of model servers. The first rule that fits holds, so what
// wraps another error stands before it.
var table = []rule{
	on(func(e *generation.NotStoredError) *apierr.Error {
		a := apierr.New(codes.Unavailable, "NOT_STORED", e.Error(),
			"generation", wire.Name(wire.Generations, e.Generation), "cause", reason(e.Err))
		a.RetryAfter = retryAfter
		return a
	}),
	on(cut),
	model,
	on(func(e *generation.ViaError) *apierr.Error {
		a := apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error())
		for _, at := range e.Wrong {
			a = a.About(fmt.Sprintf("via[%d]", at), "must be a node on the path to the parent, is "+wire.Name(wire.Nodes, e.Via[at]))
		}
		return a
	}),
	on(func(e *generation.OptionsError) *apierr.Error {
		right := fmt.Sprintf("must be for 1 to %d combinations of options (generation.options of the agent), has %d", e.Limit, e.Count)
		switch {
		case e.Large:
			right = "must be for combinations of options whose texts come to 1 MiB at most, as BuildStory lists no more"
		case e.More:
			right += " at least"
		}
		return apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error(), "limit", strconv.Itoa(e.Limit)).About("every_option", right)
	}),
	on(func(e *generation.PicksError) *apierr.Error {
		return apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error(), "count", strconv.Itoa(e.Count)).
			About(drawnIn(e.Field), "must have fewer groups; a backslash before a brace makes it text")
	}),
	on(func(e *generation.PresetError) *apierr.Error {
		return apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error(), "kind", e.Knobs.Kind).
			About("build.preset", "must be one without "+e.Knobs.Names()+": a server of kind "+e.Knobs.Kind+" has "+e.Knobs.Has())
	}),
	on(func(e *generation.NotFoundError) *apierr.Error {
		return apierr.New(codes.NotFound, "GENERATION_NOT_FOUND", e.Error(), "generation", wire.Name(wire.Generations, e.ID)).
			About("name", "must be a generation that runs or has a node")
	}),
	on(func(e *generation.AmbiguousError) *apierr.Error {
		return apierr.New(codes.FailedPrecondition, "AMBIGUOUS_PATH", e.Error(),
			"node", wire.Name(wire.Nodes, e.Node), "parents", names(e.Parents)).
			About("via", "must name exactly one of "+names(e.Parents))
	}),
	on(func(e *generation.UnreadableError) *apierr.Error {
		return unreadable(e.Node, e.Path, e.Error())
	}),
	on(func(e *nodecontext.UnreadableError) *apierr.Error {
		return unreadable(e.Node, e.File, e.Error())
	}),
	on(func(e *nodecontext.UnknownError) *apierr.Error {
		a := apierr.New(codes.NotFound, "NODE_NOT_FOUND", e.Error(), "node", names(e.IDs))
		for _, at := range e.At {
			a = a.About(fmt.Sprintf("refs.ids[%d]", at), "must be a node that is stored")
		}
		return a
	}),
	on(func(e *nodecontext.TooLargeError) *apierr.Error {
		return apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error(), "limit", strconv.Itoa(e.Limit)).
			About("parent", fmt.Sprintf("must have, with merge_parents, at most %d bytes of text", e.Limit))
	}),
	on(func(e *generation.BackendChangedError) *apierr.Error {
		return apierr.New(codes.FailedPrecondition, "BACKEND_CHANGED", e.Error(), "measured", identity(e.Measured), "found", identity(e.Found))
	}),
	on(func(e *generation.ReusedError) *apierr.Error {
		return apierr.New(codes.InvalidArgument, "REQUEST_ID_REUSED", e.Error(), "request_id", e.RequestID.String()).
			About("request_id", "must be one that was not used for another request")
	}),
	on(func(e *generation.CutOftenError) *apierr.Error {
		return apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error(), "limit", strconv.Itoa(generation.MaxCuts)).
			About("request_id", "must be another one: this one was cut too often")
	}),
	on(func(e *generation.RangeError) *apierr.Error {
		return apierr.New(codes.OutOfRange, "EVENT_OUT_OF_RANGE", e.Error(), "last", strconv.Itoa(e.Last)).
			About("after", "must be at most "+strconv.Itoa(e.Last))
	}),
	on(func(e *generation.BusyError) *apierr.Error {
		a := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "limit", strconv.Itoa(e.Limit))
		a.RetryAfter = retryAfter
		return a
	}),
	on(func(e *generation.DrainingError) *apierr.Error { return stopping(e) }),
	on(func(e *summary.DrainingError) *apierr.Error { return stopping(e) }),
	on(func(e *summary.BackendChangedError) *apierr.Error {
		return apierr.New(codes.FailedPrecondition, "BACKEND_CHANGED", e.Error(), "measured", identity(e.Measured), "found", identity(e.Found))
	}),
}

// unreadable is for a node on the path that cannot be read.
func unreadable(node uuid.UUID, file, message string) *apierr.Error {
	a := apierr.New(codes.DataLoss, "UNREADABLE_FILE", message, "name", wire.Name(wire.Nodes, node)).
		About("parent", "must be a node whose whole path can be read")
	if file != "" {
		a = a.WithMetadata("path", file)
	}
	return a
}

func stopping(err error) *apierr.Error {
	a := apierr.New(codes.Unavailable, apierr.ReasonDraining, err.Error())
	a.RetryAfter = retryAfter
	return a
}

// fault is what the caller gets for an error. What no rule fits, such as a panic, stays as it is and is answered as
// INTERNAL; what an adapter has typed for the caller passes.
func fault(err error) error {
	if several := (*generation.RefusedError)(nil); errors.As(err, &several) {
		return refused(several)
	}
	for _, r := range slices.Concat(ofSessions, table) {
		if answer := r(err); answer != nil {
			return answer
		}
	}
	return err
}

// sentence says to people why a generation failed; a fault of ours is not explained to them.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	var own *apierr.Error
	if errors.As(fault(err), &own) {
		return own.Message
	}
	return "something went wrong on our side; the log has it"
}

// drawnIn is the field of the request from which promptbuilder's field with a group is made.
func drawnIn(field string) string {
	switch {
	case field == "body":
		return "text"
	case strings.HasPrefix(field, "story."):
		return field
	}
	return "build." + field
}

// refused is the answer to the first reason, or INVALID_FIELD with the fields of all of them where the others name more.
func refused(e *generation.RefusedError) error {
	first, f := fault(e.Reasons[0]), &apierr.Fields{}
	f.Also(first)
	own := f.Len()
	for _, r := range e.Reasons[1:] {
		f.Also(fault(r))
	}
	if f.Len() == own {
		return first
	}
	return f.Err()
}

func model(err error) error { return modelerr.Answer(err, maxTokens) }

// cut is for an answer that is not whole: the cause, and the node that keeps what was received.
func cut(e *generation.CutError) *apierr.Error {
	a := apierr.New(codes.Canceled, "GENERATION_CANCELLED", e.Error())
	switch e.Finish {
	case generation.FinishShutdown:
		a.Code, a.Reason, a.RetryAfter = codes.Unavailable, apierr.ReasonDraining, retryAfter
	case generation.FinishIdle, generation.FinishTimeout:
		a.Code, a.Reason = codes.DeadlineExceeded, "GENERATION_TIMEOUT"
	case generation.FinishBackendError:
		a = broken(e)
	}
	a = a.WithMetadata("generation", wire.Name(wire.Generations, e.Generation))
	if e.Limit > 0 {
		a = a.WithMetadata("limit", e.Limit.String())
	}
	if e.Node != uuid.Nil {
		a = a.WithMetadata("node", wire.Name(wire.Nodes, e.Node))
	}
	return a
}

// broken is for an answer that the model server did not end.
func broken(e *generation.CutError) *apierr.Error {
	var a *apierr.Error
	if !errors.As(model(e.Err), &a) {
		return apierr.New(codes.Internal, "BACKEND_FAULT", e.Error())
	}
	a.Message = e.Error()
	return a
}

// reason is how a service of ours called its error; INTERNAL where it has no name.
func reason(err error) string {
	var typed *apierr.Error
	if errors.As(err, &typed) {
		return typed.Reason
	}
	return apierr.ReasonInternal
}

// identity is what decides whether two model servers measure alike, in one value.
func identity(i llm.Identity) string {
	return strings.Join([]string{i.Model, strconv.Itoa(i.Window), i.Tokenizer, i.Address}, " ")
}

func names(ids []uuid.UUID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = wire.Name(wire.Nodes, id)
	}
	return strings.Join(all, ",")
}
