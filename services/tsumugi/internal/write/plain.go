package write

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
)

// plain turns an error into a sentence for the writer.
func (s *session) plain(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := apierr.FromStatus(err); ok {
		return errors.New(e.Message)
	}
	rpc, is := status.FromError(err)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("止めました stopped")
	case !is:
		return err
	case rpc.Code() == codes.Unavailable:
		return fmt.Errorf("nobody answers at %s (%s): start `tsumugi serve`, or name its gRPC address with --addr", s.Addr, grpcclient.Reason(err))
	default:
		return fmt.Errorf("%s answered: %s", s.Addr, grpcclient.Reason(err))
	}
}
