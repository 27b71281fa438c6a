package transport

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// undoTable says what a caller gets for the errors of undoing.
var undoTable = []func(*fields, error) *apierr.Error{
	on(func(f *fields, e *library.NoStepError) *apierr.Error {
		out := apierr.New(codes.FailedPrecondition, "NOTHING_TO_UNDO", e.Error(), "flow", flow.Name(e.Flow))
		out.Preconditions = []apierr.Precondition{{Type: "NOTHING_TO_UNDO", Subject: flow.Name(e.Flow), Description: "change it first"}}
		if e.Redo {
			out.Preconditions[0].Description = "undo something first"
		}
		return because(out, f.where(e.Flow, aFlow))
	}),
	on(func(f *fields, e *library.UndoRefusedError) *apierr.Error {
		if gone := (*store.PurgedError)(nil); errors.As(e.Cause, &gone) {
			return because(purged(gone, e.Error(), "what was purged does not come back; change the flow as it is"), f.where(e.Flow, aFlow))
		}
		out := apierr.New(codes.FailedPrecondition, "UNDO_REFUSED", e.Error(), "flow", flow.Name(e.Flow))
		if moved := (*flow.UndoError)(nil); errors.As(e.Cause, &moved) {
			for _, m := range moved.Moved {
				out.Preconditions = append(out.Preconditions,
					apierr.Precondition{Type: "UNDO_REFUSED", Subject: m.Key, Description: fmt.Sprintf("was left %s and is %s now", m.Left, m.Now)})
			}
		} else {
			out.Preconditions = []apierr.Precondition{{Type: "UNDO_REFUSED", Subject: flow.Name(e.Flow), Description: e.Cause.Error()}}
		}
		return because(out, f.where(e.Flow, aFlow))
	}),
}
