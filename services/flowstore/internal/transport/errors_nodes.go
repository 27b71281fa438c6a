package transport

import (
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// nodeTable says what a caller gets for the errors of operations on nodes.
var nodeTable = []func(*fields, error) *apierr.Error{
	on(func(_ *fields, e *library.RevisionNotFoundError) *apierr.Error {
		out := apierr.New(codes.NotFound, "REVISION_NOT_FOUND", e.Error(), "node", node.Name(e.Node), "revision", e.Revision())
		return because(out, []string{"revision"})
	}),
	on(func(_ *fields, e *node.NothingCutError) *apierr.Error {
		return because(apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error()), []string{"offset"})
	}),
}
