// Package downstream says what an error of a service that the agent calls means for the agent's own caller.
//
// What the caller can mend passes on under its own name; trouble of the service becomes SERVICE_UNAVAILABLE; everything
// else is a fault of ours and stays untyped, so that it is answered as INTERNAL and nothing of it leaks
// (field/gostyle.md 3.1: an INVALID_ARGUMENT of a service that we called is our bug, unless it is about a field that the
// caller gave us).
package downstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
)

// ReasonUnavailable says that a service of ours does not answer. Metadata: `service`.
const ReasonUnavailable = "SERVICE_UNAVAILABLE"

// retryAfter is about how long a service needs to start.
const retryAfter = 2 * time.Second

// Service is a service that is called.
type Service struct {
	// Name is how people know it, such as `flowstore`.
	Name string
	// Passed are the reasons that concern the caller.
	Passed []string
	// Fields says from which field of the caller's request a field of the call was made. Where both have one name, the
	// rest of the path stays.
	Fields map[string]string
	// Under is the field of the caller's request that was passed on as it is, and in which all other fields are; empty
	// where none was.
	Under string
}

// Error is what the caller is told: an *apierr.Error, or an untyped one for a fault of ours. nil stays nil.
func (s Service) Error(err error) error {
	if err == nil {
		return nil
	}
	own, typed := apierr.FromStatus(err)
	passed := typed && (slices.Contains(s.Passed, own.Reason) || own.Reason == apierr.ReasonLimitExceeded)
	switch code := status.Code(err); {
	case passed:
		own.Violations, _ = s.translate(own.Violations)
		return own
	case code == codes.Canceled:
		return context.Canceled
	case code == codes.Unavailable, code == codes.DeadlineExceeded:
		return s.unavailable(err)
	case typed && own.Reason == apierr.ReasonInvalidField:
		if v, all := s.translate(own.Violations); all {
			f := &apierr.Fields{}
			f.Also(&apierr.Error{Violations: v})
			return f.Err()
		}
	}
	// Not wrapped: whatever is in there is not the answer to our caller.
	return fmt.Errorf("%s answered: %s", s.Name, err.Error())
}

// unavailable says so, whether the service stops, does not listen or takes too long.
func (s Service) unavailable(err error) *apierr.Error {
	e := apierr.New(codes.Unavailable, ReasonUnavailable,
		fmt.Sprintf("%s does not answer: %s", s.Name, grpcclient.Reason(err)), "service", s.Name)
	e.RetryAfter = retryAfter
	return e
}

// translate gives the violations that are about the caller's fields, under the caller's names; all says whether those
// are all.
func (s Service) translate(violations []apierr.Violation) (callers []apierr.Violation, all bool) {
	for _, v := range violations {
		end := strings.IndexAny(v.Field+".", ".[")
		head, rest := v.Field[:end], v.Field[end:]
		to, ok := s.Fields[head]
		switch {
		case !ok && s.Under == "":
			continue
		case !ok:
			to = s.Under + "." + v.Field
		case to == head:
			to += rest
		}
		callers = append(callers, apierr.Violation{Field: to, Description: v.Description, Reason: v.Reason})
	}
	return callers, len(callers) == len(violations)
}
