package transport

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// drainRetry is when another process may answer in place of one that is stopping.
const drainRetry = time.Second

// table says what a caller gets for each error of the domain. What is not in it is a fault of ours and becomes INTERNAL.
var table = []func(*fields, error) *apierr.Error{
	on(notFound),
	on(func(f *fields, e *library.TakenError) *apierr.Error {
		metadata := []string{"name", e.Kind.Name(e.ID)}
		if !e.Deleted.IsZero() {
			metadata = append(metadata, "delete_time", stamp(e.Deleted))
		}
		return because(apierr.New(codes.AlreadyExists, "ALREADY_EXISTS", e.Error(), metadata...), f.where(e.ID, chosen))
	}),
	on(func(f *fields, e *library.UnreadableError) *apierr.Error {
		out := apierr.New(codes.DataLoss, "UNREADABLE_FILE", e.Error(), "name", e.Kind.Name(e.ID), "path", e.Cause.Path)
		return because(out, f.named(e.Kind, e.ID))
	}),
	on(func(f *fields, e *library.TooLargeError) *apierr.Error {
		out := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "node", node.Name(e.Node), "limit", strconv.Itoa(node.MaxSize))
		return because(out, f.named(store.KindNode, e.Node))
	}),
	on(func(_ *fields, e *node.OutsideError) *apierr.Error {
		field := "text_index"
		if e.InText {
			field = "offset"
		}
		return because(apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error()), []string{field})
	}),
	on(func(_ *fields, e *library.DiffTooLargeError) *apierr.Error {
		out := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "limit", strconv.Itoa(library.MaxDiff))
		return because(out, []string{"node", "other"})
	}),
	on(func(f *fields, e *library.RequestReusedError) *apierr.Error {
		out := apierr.New(codes.InvalidArgument, "REQUEST_ID_REUSED", e.Error(), "request_id", e.Request.String())
		return because(out, f.where(e.Request, request))
	}),
	on(func(_ *fields, e *library.PlaceGoneError) *apierr.Error { return badToken(nil, e) }),
	on(notInFlow),
	on(cycle),
	on(func(f *fields, e *etag.StaleError) *apierr.Error {
		kind := store.KindFlow
		if strings.HasPrefix(e.Name, node.Collection) {
			kind = store.KindNode
		}
		out := apierr.New(codes.Aborted, "ETAG_MISMATCH", e.Error(), string(kind), e.Name, "etag", e.Given, "current_etag", e.Current)
		return because(out, []string{cmp.Or(f.etag, "etag")})
	}),
	on(func(f *fields, e *flow.NotConnectedError) *apierr.Error {
		out := apierr.New(codes.FailedPrecondition, "NOT_CONNECTED", e.Error(),
			"flow", flow.Name(e.Flow), "parent", node.Name(e.From), "child", node.Name(e.To))
		out.Preconditions = []apierr.Precondition{{Type: "NOT_CONNECTED", Subject: node.Name(e.To), Description: "connect it with " + node.Name(e.From) + " first"}}
		return because(out, slices.Concat(f.where(e.From, aNode), f.where(e.To, aNode, neighbour)))
	}),
	on(func(f *fields, e *flow.HasChildrenError) *apierr.Error {
		out := apierr.New(codes.FailedPrecondition, "HAS_CHILDREN", e.Error(),
			"flow", flow.Name(e.Flow), "node", node.Name(e.Node), "children", strconv.Itoa(len(e.Children)))
		out.Preconditions = []apierr.Precondition{{Type: "HAS_CHILDREN", Subject: node.Name(e.Node), Description: "choose REMOVE_MODE_SPLICE or REMOVE_MODE_SUBTREE"}}
		return because(out, f.where(e.Node, aNode))
	}),
	on(func(_ *fields, e *flow.NoCurrentError) *apierr.Error {
		out := apierr.New(codes.FailedPrecondition, "NO_CURRENT_NODE", e.Error(), "flow", flow.Name(e.Flow))
		out.Preconditions = []apierr.Precondition{{Type: "NO_CURRENT_NODE", Subject: flow.Name(e.Flow), Description: "set its current node"}}
		return because(out, []string{"node"})
	}),
	on(func(f *fields, e *flow.FullError) *apierr.Error {
		out := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(),
			"flow", flow.Name(e.Flow), "what", e.What, "limit", strconv.Itoa(e.Limit))
		return because(out, f.where(e.Flow, aFlow))
	}),
	on(func(_ *fields, e *store.ReadOnlyError) *apierr.Error {
		return apierr.New(codes.Unavailable, "STORE_READ_ONLY", e.Error(), "cause", e.Cause.Error())
	}),
	is(store.ErrFull, func(_ *fields, e error) *apierr.Error {
		return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "limit", strconv.Itoa(store.MaxFiles))
	}),
	on(func(_ *fields, e *store.CrowdedError) *apierr.Error {
		return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "limit", strconv.Itoa(e.Limit))
	}),
	is(store.ErrClosed, func(*fields, error) *apierr.Error {
		e := apierr.New(codes.Unavailable, apierr.ReasonDraining, "the service is stopping; try again")
		e.RetryAfter = drainRetry
		return e
	}),
	is(pagetoken.ErrMalformed, badToken),
	is(pagetoken.ErrOtherQuery, badToken),
}

// fault is what the caller gets for an error. Several at once are answered as the first of them, with the violations of
// all.
func (f *fields) fault(err error) error {
	many := &library.ManyError{Errs: []error{err}}
	errors.As(err, &many)
	var out *apierr.Error
	for _, one := range many.Errs {
		e := f.answer(one)
		switch {
		case e == nil:
			return err
		case out == nil:
			out = e
		default:
			for i := range e.Violations {
				e.Violations[i].Reason = e.Reason
			}
			out.Violations = append(out.Violations, slices.DeleteFunc(e.Violations, told(out.Violations))...)
			out.Preconditions = append(out.Preconditions, e.Preconditions...)
		}
	}
	if more := len(many.Errs) - 1; more > 0 {
		out.Message += fmt.Sprintf(" (and %d more)", more)
	}
	return out
}

// told says whether something is told of a field already.
func told(violations []apierr.Violation) func(apierr.Violation) bool {
	seen := map[string]bool{}
	for _, v := range violations {
		seen[v.Field] = true
	}
	return func(v apierr.Violation) bool { return seen[v.Field] }
}

func (f *fields) answer(err error) *apierr.Error {
	for _, row := range slices.Concat(table, flowTable, nodeTable, trashTable, undoTable, purgeTable, transferTable, searchTable) {
		if e := row(f, err); e != nil {
			return e
		}
	}
	return nil
}

// because adds that an error is about these fields.
func because(e *apierr.Error, fields []string) *apierr.Error {
	for _, field := range fields {
		e.Violations = append(e.Violations, apierr.Violation{Field: field, Description: e.Message})
	}
	return e
}

// on is a row for a type of error.
func on[E error](answer func(*fields, E) *apierr.Error) func(*fields, error) *apierr.Error {
	return func(f *fields, err error) *apierr.Error {
		var e E
		if !errors.As(err, &e) {
			return nil
		}
		return answer(f, e)
	}
}

// is is a row for one error.
func is(target error, answer func(*fields, error) *apierr.Error) func(*fields, error) *apierr.Error {
	return func(f *fields, err error) *apierr.Error {
		if !errors.Is(err, target) {
			return nil
		}
		return answer(f, err)
	}
}

func notFound(f *fields, e *library.NotFoundError) *apierr.Error {
	if !e.Deleted.IsZero() {
		return deleted(f, e)
	}
	reason := "NODE_NOT_FOUND"
	if e.Kind == store.KindFlow {
		reason = "FLOW_NOT_FOUND"
	}
	out := apierr.New(codes.NotFound, reason, e.Error(), string(e.Kind), e.Kind.Name(e.ID))
	return because(out, f.named(e.Kind, e.ID))
}

func notInFlow(f *fields, e *flow.NotMemberError) *apierr.Error {
	out := apierr.New(codes.FailedPrecondition, "NOT_IN_FLOW", e.Error(), "flow", flow.Name(e.Flow), "node", node.Name(e.Nodes[0]))
	for _, id := range e.Nodes {
		out.Preconditions = append(out.Preconditions,
			apierr.Precondition{Type: "NOT_IN_FLOW", Subject: node.Name(id), Description: "add it to " + flow.Name(e.Flow) + " first"})
		alone := &flow.NotMemberError{Flow: e.Flow, Nodes: []uuid.UUID{id}}
		for _, field := range f.where(id, aNode, neighbour) {
			out.Violations = append(out.Violations, apierr.Violation{Field: field, Description: alone.Error()})
		}
	}
	return out
}

// cycle names the neighbours by which the cycles would be closed.
func cycle(f *fields, e *flow.CycleError) *apierr.Error {
	out := apierr.New(codes.FailedPrecondition, "CYCLE", e.Error(), "flow", flow.Name(e.Flow), "path", strings.Join(nodeNames(e.Path), ","))
	for _, p := range f.places {
		closes := func(edge [2]uuid.UUID) bool { return slices.Contains(edge[:], p.id) }
		if p.role == neighbour && slices.ContainsFunc(e.Closing, closes) {
			out.Violations = append(out.Violations, apierr.Violation{Field: p.field, Description: "would close a cycle"})
		}
	}
	if len(out.Violations) == 0 && f.head != "" {
		return because(out, []string{f.head})
	}
	return out
}

func badToken(_ *fields, err error) *apierr.Error {
	return because(apierr.New(codes.InvalidArgument, "INVALID_PAGE_TOKEN", err.Error()), []string{"page_token"})
}
