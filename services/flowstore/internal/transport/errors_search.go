package transport

import (
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// searchTable says what a caller gets for the errors of searches.
var searchTable = []func(*fields, error) *apierr.Error{
	on(func(_ *fields, e *search.QueryError) *apierr.Error {
		out := apierr.New(codes.InvalidArgument, "INVALID_QUERY", e.Error(), "character", strconv.Itoa(e.Violations[0].At))
		for _, v := range e.Violations {
			description := fmt.Sprintf("at character %d, %q %s", v.At, v.Part, v.Message)
			out.Violations = append(out.Violations, apierr.Violation{Field: "query", Description: description})
		}
		return out
	}),
	on(func(_ *fields, e *search.PageError) *apierr.Error { return badToken(nil, e) }),
}
