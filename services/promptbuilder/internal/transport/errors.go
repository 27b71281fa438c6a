package transport

import (
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/modelerr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// fault is what the caller gets for an error of the domain or of a model server. Anything else stays as it is and
// becomes INTERNAL.
func fault(err error) error {
	if count := (*story.CountError)(nil); errors.As(err, &count) {
		return apierr.New(codes.Internal, "BACKEND_FAULT", err.Error(), "backend", count.Backend.Backend, "address", count.Backend.Address)
	}
	if answer := modelerr.Answer(err, "max_tokens"); answer != nil {
		return answer
	}
	return err
}
