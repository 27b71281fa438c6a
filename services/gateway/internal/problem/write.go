package problem

import (
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/stablejson"
)

// httpStatuses are those that the gRPC code alone does not give.
var httpStatuses = map[string]int{
	MethodNotAllowed:     http.StatusMethodNotAllowed,
	UnsupportedMediaType: http.StatusUnsupportedMediaType,
	BodyTooLarge:         http.StatusRequestEntityTooLarge,
	BodyTimeout:          http.StatusRequestTimeout,
	UnknownHost:          http.StatusMisdirectedRequest,
}

// undescribed is the answer where not even the error can be written.
const undescribed = `{"code":13,"message":"an error could not be described","details":[` +
	`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL","domain":"tsumugi"}]}`

// Write answers with st: its JSON, the HTTP status, and the headers that say the same to HTTP clients.
func Write(w http.ResponseWriter, st *status.Status) {
	h := w.Header()
	h.Del("Transfer-Encoding")
	h.Set("Content-Type", "application/json")
	code := runtime.HTTPStatusFromCode(st.Code())
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if special, ok := httpStatuses[d.GetReason()]; ok {
				code = special
			}
		case *errdetails.RetryInfo:
			h.Set("Retry-After", seconds(d.GetRetryDelay().AsDuration()))
		}
	}
	if st.Code() == codes.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer") // the scheme alone: the message is in the body
	}
	w.WriteHeader(code)
	_, _ = w.Write(append(JSON(st.Proto()), '\n'))
}

// JSON is a google.rpc.Status in JSON: code, message, details, and of the details what is set.
func JSON(status proto.Message) []byte {
	b, err := stablejson.Marshal(protojson.MarshalOptions{}, status)
	if err != nil {
		return []byte(undescribed)
	}
	return b
}

// seconds rounds up: a client that comes back too early is refused again.
func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
