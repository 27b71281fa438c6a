// Package problem writes errors as REST answers: a google.rpc.Status as JSON, always with exactly one ErrorInfo.
package problem

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Reasons of the gateway itself.
var (
	RouteNotFound        = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_ROUTE_NOT_FOUND)
	MethodNotAllowed     = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_METHOD_NOT_ALLOWED)
	UnsupportedMediaType = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_UNSUPPORTED_MEDIA_TYPE)
	BodyTooLarge         = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_BODY_TOO_LARGE)
	BodyTimeout          = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_BODY_TIMEOUT)
	UnknownHost          = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_UNKNOWN_HOST)
	InvalidJSON          = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_INVALID_JSON)
	InvalidField         = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_INVALID_FIELD)
	LimitExceeded        = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_LIMIT_EXCEEDED)
	ServiceUnavailable   = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_SERVICE_UNAVAILABLE)
	UnknownMethod        = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_UNKNOWN_METHOD)
	Cancelled            = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_CANCELLED)
	DeadlineExceeded     = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_DEADLINE_EXCEEDED)
	Internal             = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_INTERNAL)
	Draining             = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_DRAINING)
	CrossOrigin          = reason(commonv1.GatewayErrorReason_GATEWAY_ERROR_REASON_CROSS_ORIGIN)
)

func reason(r commonv1.GatewayErrorReason) string {
	return strings.TrimPrefix(r.String(), "GATEWAY_ERROR_REASON_")
}

// InternalError is what a caller learns of a fault of ours: the id under which the log has it, and nothing else.
func InternalError(requestID string) *apierr.Error {
	return apierr.New(codes.Internal, Internal,
		fmt.Sprintf("something went wrong on our side; the log has it under request id %s", requestID), "request_id", requestID)
}
