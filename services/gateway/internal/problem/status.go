package problem

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// unavailableRetry is how long a caller waits before it asks again for a service that did not answer.
const unavailableRetry = time.Second

// Call says what an error happened to.
type Call struct {
	// Service is the short name of the service that was called, such as `agent`; empty when none was.
	Service string
	// RequestID is the id under which the logs have the request.
	RequestID string
}

// Status is what the caller gets for err. A status of one of our services is passed on as it is, and so is an error of
// the gateway's own. What gRPC itself reports (no connection, a limit) is put into the gateway's words: its text names
// addresses and transports, and it has no ErrorInfo.
func Status(err error, call Call) *status.Status {
	var own *apierr.Error
	if errors.As(err, &own) {
		return own.GRPCStatus()
	}
	st := status.Convert(err)
	if kept, ok := ours(st); ok {
		return kept
	}
	return transport(st, call).GRPCStatus()
}

// ours keeps of a status the details that can be written as JSON; ok is true when exactly one ErrorInfo of ours is among them.
func ours(st *status.Status) (kept *status.Status, ok bool) {
	p := st.Proto()
	details := make([]*anypb.Any, 0, len(p.GetDetails()))
	infos := 0
	for _, d := range p.GetDetails() {
		m, err := d.UnmarshalNew()
		if err != nil {
			continue // a detail of a newer service: this program does not know its type
		}
		if info, is := m.(*errdetails.ErrorInfo); is && info.GetDomain() == apierr.Domain {
			infos++
		}
		details = append(details, d)
	}
	p.Details = details
	return status.FromProto(p), infos == 1
}

// transport says in the gateway's words what gRPC, or the code that was generated for the gateway, reports.
func transport(st *status.Status, call Call) *apierr.Error {
	switch st.Code() {
	case codes.InvalidArgument:
		return apierr.New(codes.InvalidArgument, InvalidField, st.Message())
	case codes.Unavailable:
		e := apierr.New(codes.Unavailable, ServiceUnavailable,
			fmt.Sprintf("the service %s does not answer; try again shortly", call.Service), "service", call.Service)
		e.RetryAfter = unavailableRetry
		return e
	case codes.Unimplemented:
		return apierr.New(codes.Unimplemented, UnknownMethod,
			fmt.Sprintf("what answers for the service %s does not know this call", call.Service), "service", call.Service)
	case codes.Canceled:
		return apierr.New(codes.Canceled, Cancelled, "the caller went away")
	case codes.DeadlineExceeded:
		return apierr.New(codes.DeadlineExceeded, DeadlineExceeded,
			fmt.Sprintf("the service %s did not answer in time; the header Grpc-Timeout, such as 60S, asks for more", call.Service))
	case codes.ResourceExhausted:
		return apierr.New(codes.ResourceExhausted, LimitExceeded,
			fmt.Sprintf("the request, or the answer of the service %s, is larger than one message may be", call.Service))
	}
	return InternalError(call.RequestID)
}
