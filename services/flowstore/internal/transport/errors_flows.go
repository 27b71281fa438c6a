package transport

import (
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// flowTable says what a caller gets for the errors of named branches.
var flowTable = []func(*fields, error) *apierr.Error{
	on(func(f *fields, e *flow.HeadError) *apierr.Error {
		out := apierr.New(codes.NotFound, "HEAD_NOT_FOUND", e.Error(), "flow", flow.Name(e.Flow), "head", e.Name)
		return because(out, []string{f.head})
	}),
	on(func(f *fields, e *flow.HeadTakenError) *apierr.Error {
		out := apierr.New(codes.AlreadyExists, "ALREADY_EXISTS", e.Error(), "flow", flow.Name(e.Flow), "head", e.Name)
		return because(out, []string{f.head})
	}),
}
