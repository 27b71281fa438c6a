// Package apierr is the one place where an error becomes a gRPC status.
//
// Transport maps the typed errors of its domain to an *Error; every answer then has a canonical code and exactly one
// ErrorInfo (design 2: domain "tsumugi", reason = a value of the service's enum ErrorReason without its prefix),
// BadRequest with all violations at once, and RetryInfo where waiting helps. Anything else that reaches a client is
// INTERNAL with the request id and nothing more.
package apierr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Domain is the ErrorInfo domain of every error of ours.
const Domain = "tsumugi"

// Reasons that every service has under the same name.
const (
	ReasonInvalidField  = "INVALID_FIELD"
	ReasonLimitExceeded = "LIMIT_EXCEEDED"
	ReasonInternal      = "INTERNAL"
	ReasonDraining      = "DRAINING"
	// ReasonCancelled and ReasonDeadlineExceeded say that the caller did not wait, or that the time limit was reached.
	ReasonCancelled        = "CANCELLED"
	ReasonDeadlineExceeded = "DEADLINE_EXCEEDED"
	// ReasonNamespaceDenied says that the caller may not act there.
	ReasonNamespaceDenied = "NAMESPACE_DENIED"
	// ReasonUnauthenticated says that the caller is not known.
	ReasonUnauthenticated = "UNAUTHENTICATED"
	// ReasonPermissionDenied says that the caller's token is not for this call. Metadata: `roles` or `session`.
	ReasonPermissionDenied = "PERMISSION_DENIED"
	// ReasonUnknownMethod says that this server has no such method. Metadata: `method`.
	ReasonUnknownMethod = "UNKNOWN_METHOD"
)

// Error is an answer to a caller who did not get what was asked for.
type Error struct {
	// Code is the canonical code.
	Code codes.Code
	// Reason is a value of the service's ErrorReason without `ERROR_REASON_`.
	Reason string
	// Message is one sentence for the person who gets it: what was wrong and what would be right.
	Message string
	// Metadata are the changing parts of the message, for programs.
	Metadata map[string]string
	// Violations are the wrong fields, all of them.
	Violations []Violation
	// Preconditions are what stands in the way of a refused transition.
	Preconditions []Precondition
	// RetryAfter is how long to wait before trying again. 0: do not say.
	RetryAfter time.Duration
	// Once: the connection of the caller shall not repeat the call by itself (gRPC proposal A6, pushback). The trouble is
	// behind this service and not on the way to it, and each attempt would cost the caller the whole wait again.
	Once bool
}

// Violation is one wrong field.
type Violation struct {
	// Field is its path in the request, in lower snake case, such as `node.texts[2].role`.
	Field string
	// Description says what would be right.
	Description string
	// Reason is a value of ErrorReason where it is another than that of the error.
	Reason string
}

// Precondition is one thing that stands in the way.
type Precondition struct{ Type, Subject, Description string }

// New makes an Error; pairs are metadata, key then value.
func New(code codes.Code, reason, message string, pairs ...string) *Error {
	e := &Error{Code: code, Reason: reason, Message: message}
	for i := 0; i+1 < len(pairs); i += 2 {
		if e.Metadata == nil {
			e.Metadata = map[string]string{}
		}
		e.Metadata[pairs[i]] = pairs[i+1]
	}
	return e
}

// About adds a wrong field to e, and returns e.
func (e *Error) About(field, description string) *Error {
	e.Violations = append(e.Violations, Violation{Field: field, Description: description})
	return e
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// GRPCStatus makes the status that goes over the wire.
func (e *Error) GRPCStatus() *status.Status {
	b := budget(maxDetailBytes)
	message := b.text(e.Message)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: e.Reason, Domain: Domain, Metadata: b.metadata(e.Metadata)}}
	if len(e.Violations) > 0 {
		details = append(details, b.badRequest(e.Violations, e.Reason))
	}
	if len(e.Preconditions) > 0 {
		details = append(details, b.preconditionFailure(e.Preconditions))
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	s, err := status.New(e.Code, message).WithDetails(details...)
	if err != nil { // only an Error with code OK comes here
		return status.New(codes.Internal, "an error could not be described")
	}
	return s
}

// Status turns any error of a handler into what the caller gets: see From.
func Status(err error, requestID string) *status.Status {
	if err == nil {
		return nil
	}
	return From(err, requestID).GRPCStatus()
}

// From turns any error of a handler into an *Error. A status that is not ours is a fault of ours (a downstream
// INVALID_ARGUMENT is our bug, field/gostyle.md 3.1), except for the caller's own cancellation and deadline.
func From(err error, requestID string) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	switch {
	case errors.Is(err, context.Canceled):
		return New(codes.Canceled, ReasonCancelled, "the caller cancelled the request")
	case errors.Is(err, context.DeadlineExceeded):
		return New(codes.DeadlineExceeded, ReasonDeadlineExceeded, "the request took longer than its time limit")
	}
	return New(codes.Internal, ReasonInternal,
		fmt.Sprintf("something went wrong on our side; the log has it under request id %s", requestID),
		"request_id", requestID)
}

// FromStatus reads an Error back out of a status that came over the wire; ok is false where it carries no ErrorInfo of ours.
func FromStatus(err error) (e *Error, ok bool) {
	s, is := status.FromError(err)
	if !is || s == nil {
		return nil, false
	}
	e = &Error{Code: s.Code(), Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.Domain == Domain {
				e.Reason, e.Metadata, ok = d.Reason, d.Metadata, true
			}
		case *errdetails.BadRequest:
			for _, v := range d.FieldViolations {
				e.Violations = append(e.Violations, Violation{Field: v.Field, Description: v.Description, Reason: v.Reason})
			}
		case *errdetails.PreconditionFailure:
			for _, v := range d.Violations {
				e.Preconditions = append(e.Preconditions, Precondition{v.Type, v.Subject, v.Description})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.RetryDelay.AsDuration()
		}
	}
	for i := range e.Violations {
		if e.Violations[i].Reason == e.Reason {
			e.Violations[i].Reason = ""
		}
	}
	return e, ok
}

// WithMetadata returns a copy of e with one more metadata entry.
func (e *Error) WithMetadata(key, value string) *Error {
	c := *e
	c.Metadata = maps.Clone(e.Metadata)
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[key] = value
	return &c
}
