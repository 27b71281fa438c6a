package transport

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/watch"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// ofSessions is every error of sessions, approvals and the store of both (field/agent.md 6, error map).
var ofSessions = []rule{
	on(func(e *sessionservice.NotFoundError) *apierr.Error {
		reason, collection := "SESSION_NOT_FOUND", wire.Sessions
		switch e.What {
		case "approval":
			reason, collection = "APPROVAL_NOT_FOUND", wire.Approvals
		case "standing rule": // no resource: it stands in its session
			return apierr.New(codes.NotFound, "RULE_NOT_FOUND", e.Error()).About("rule", "must be the id of a standing rule of the session")
		}
		name := resource(collection, e.ID)
		return apierr.New(codes.NotFound, reason, "there is no "+e.What+" "+name, e.What, name)
	}),
	on(func(e *sessionservice.ReusedError) *apierr.Error {
		return apierr.New(codes.AlreadyExists, "REQUEST_ID_REUSED", e.Error(), "request_id", e.RequestID).
			About("request_id", "must be one that was not used for another request")
	}),
	on(func(e *ledger.FieldsError) *apierr.Error {
		a := apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error())
		for _, v := range e.Wrong {
			a = a.About(v.Field, v.Description)
		}
		return a
	}),
	on(func(e *ledger.NotEndedError) *apierr.Error {
		return stuck("SESSION_STATE", e.Error(), wire.Sessions+e.Session, "it must have ended")
	}),
	on(func(e *ledger.BrokenError) *apierr.Error {
		if e.Approval != "" {
			return apierr.New(codes.DataLoss, "RECORD_BROKEN", e.Error(), "approval", wire.Approvals+e.Approval)
		}
		return apierr.New(codes.DataLoss, "RECORD_BROKEN", e.Error(), "session", wire.Sessions+e.Session)
	}),
	on(func(e *ledger.ClockBehindError) *apierr.Error {
		return apierr.New(codes.Unavailable, "CLOCK_BEHIND", e.Error())
	}),
	on(func(e *etag.StaleError) *apierr.Error {
		return apierr.New(codes.Aborted, "ETAG_MISMATCH", e.Error(), "etag", e.Given, "current_etag", e.Current).
			About("etag", "must be that of the session as it is now: read it again")
	}),
	on(func(e *watch.GapError) *apierr.Error {
		return apierr.New(codes.OutOfRange, "EVENT_OUT_OF_RANGE", e.Error(), "oldest", strconv.FormatInt(e.Oldest, 10), "last", strconv.FormatInt(e.Last, 10)).
			About("from_seq", "must be from "+strconv.FormatInt(max(e.Oldest-1, 0), 10)+" to "+strconv.FormatInt(e.Last, 10)+", or absent")
	}),
	left,
	on(func(e *clienttool.RefusedError) *apierr.Error {
		switch e.Code {
		case clienttool.Taken:
			return apierr.New(codes.AlreadyExists, "RESULT_EXISTS", e.Error())
		case clienttool.Unknown:
			return apierr.New(codes.NotFound, "CALL_NOT_FOUND", e.Error()).About("call", "must be that of an open tool call of the session")
		}
		return stuck("CALL_CLOSED", e.Error(), "call", "only an open tool call of the session takes a result")
	}),
	on(func(e *turn.NoRoomError) *apierr.Error {
		return stuck("CONTEXT_OVERFLOW", e.Error(), "text", "send a shorter message, or use a backend with a larger window")
	}),
	on(refusal),
	on(decision),
	func(err error) error {
		if errors.Is(err, store.ErrClosed) {
			return stopping(errors.New("the service is stopping; try again"))
		}
		return nil
	},
	func(err error) error {
		if errors.Is(err, store.ErrFull) {
			return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, store.ErrFull.Error())
		}
		return nil
	},
	func(err error) error {
		if errors.Is(err, store.ErrFenced) {
			return stopping(errors.New(store.ErrFenced.Error() + "; try again"))
		}
		return nil
	},
}

// left is for a session whose work folder or policy has left the configuration, or both: the message says which.
func left(err error) error {
	var root *toolbox.UnknownRootError
	var rules *policy.Error
	switch {
	case errors.As(err, &root):
		return stuck("SESSION_STATE", err.Error(), root.Name, "the configuration must have the work folder of the session")
	case errors.As(err, &rules):
		return stuck("SESSION_STATE", err.Error(), "policy", "the configuration must have the policy of the session")
	}
	return nil
}

// stuck is for what the state of a session does not let happen.
func stuck(reason, message, subject, right string) *apierr.Error {
	a := apierr.New(codes.FailedPrecondition, reason, message)
	a.Preconditions = []apierr.Precondition{{Type: reason, Subject: subject, Description: right}}
	return a
}

// refusal is what the state machine refuses.
func refusal(e *session.RefusedError) *apierr.Error {
	switch e.Code {
	case session.RefusedFull:
		return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error())
	case session.RefusedLate:
		return stuck("TURN_CHANGED", e.Error(), cmp.Or(e.Subject, "turn"), "read the session again, and name what is there now")
	case session.RefusedDigest:
		return apierr.New(codes.Aborted, "DIGEST_MISMATCH", e.Error()).About("digest", "must be that of the approval as it is now")
	case session.RefusedQuestion:
		return stuck("QUESTION_CLOSED", e.Error(), "question", "read the session again: session.question is what is open")
	case session.RefusedUnknown:
		return apierr.New(codes.NotFound, "APPROVAL_NOT_FOUND", e.Error())
	default:
		return stuck("SESSION_STATE", e.Error(), "session", "read the session again: its state says what is possible")
	}
}

// decision is what the gate refuses.
func decision(e *gate.Refusal) *apierr.Error {
	name := wire.Approvals + e.Approval
	a := func(code codes.Code, reason string) *apierr.Error {
		return apierr.New(code, reason, e.Error(), "approval", name)
	}
	closed := func(reason, right string) *apierr.Error {
		out := stuck(reason, e.Error(), name, right)
		return out.WithMetadata("approval", name)
	}
	switch e.Code {
	case gate.NotFound:
		return apierr.New(codes.NotFound, "APPROVAL_NOT_FOUND", "there is no approval "+name, "approval", name)
	case gate.NotPerson, gate.NotApprover, gate.OwnRequest:
		return a(codes.PermissionDenied, apierr.ReasonPermissionDenied)
	case gate.Invalid:
		return a(codes.InvalidArgument, apierr.ReasonInvalidField).About(strings.TrimPrefix(e.Field, "request."), e.Error())
	case gate.WrongAnswer:
		return a(codes.InvalidArgument, apierr.ReasonInvalidField).About("decision", e.Error())
	case gate.NotOffered:
		if e.Field != "" {
			return a(codes.InvalidArgument, apierr.ReasonInvalidField).About(e.Field, strings.TrimPrefix(e.Error(), e.Field+" "))
		}
		return a(codes.InvalidArgument, apierr.ReasonInvalidField).About("scope", "must be one of the offers of the approval")
	case gate.BadEdit:
		return a(codes.InvalidArgument, apierr.ReasonInvalidField).About("arguments", e.Error())
	case gate.TooLong:
		return a(codes.InvalidArgument, apierr.ReasonInvalidField).About("expire_time", e.Error())
	case gate.WrongDigest:
		return a(codes.Aborted, "DIGEST_MISMATCH").About("digest", "must be that of the approval as it is now")
	case gate.Unread:
		if e.Field != "" {
			return closed("NOT_SHOWN", "leave "+e.Field+" out")
		}
		return closed("NOT_SHOWN", "read all pages, and send the content_digest of the last one")
	case gate.Unshown:
		return closed("NOT_SHOWN", "send acknowledge_unshown")
	case gate.NeverUnshown, gate.NotByWords:
		return closed("NOT_SHOWN", e.Error())
	case gate.Over:
		return closed("APPROVAL_EXPIRED", "the model must ask again")
	case gate.Closed:
		return closed("APPROVAL_CLOSED", "only one that waits can be decided")
	case gate.Broken, gate.Foreign:
		return a(codes.DataLoss, "RECORD_BROKEN")
	}
	return a(codes.FailedPrecondition, "SESSION_STATE")
}

// inside names the fields of a refusal as they stand in the request, also the one with which its message begins.
func inside(prefix string, err error) error {
	var own *apierr.Error
	if !errors.As(err, &own) {
		return err
	}
	renamed := *own
	renamed.Violations = nil
	for _, v := range own.Violations {
		if v.Field != "request_id" {
			if strings.HasPrefix(renamed.Message, v.Field+": ") {
				renamed.Message = prefix + renamed.Message
			}
			v.Field = prefix + v.Field
		}
		renamed.Violations = append(renamed.Violations, v)
	}
	return &renamed
}
