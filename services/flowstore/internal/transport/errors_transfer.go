package transport

import (
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// transferTable says what a caller gets for the errors of imports.
var transferTable = []func(*fields, error) *apierr.Error{
	on(func(_ *fields, e *transfer.FormatError) *apierr.Error {
		return because(apierr.New(codes.InvalidArgument, "UNREADABLE_IMPORT", e.Error()), []string{"chunk"})
	}),
}
