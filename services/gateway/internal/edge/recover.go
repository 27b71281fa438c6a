package edge

import (
	"net/http"
	"runtime/debug"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
)

// recoverPanics turns a panic into an answer, or, where the answer has begun, into a broken connection.
func recoverPanics(next http.Handler, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			c := of(r.Context())
			log.Error("panic", zap.String("request_id", c.id), zap.Any("cause", cause), zap.ByteString("stack", debug.Stack()))
			if c.answer.status != 0 {
				panic(http.ErrAbortHandler) // the only way to tell the client that what it got is not whole
			}
			refuse(w, r, problem.InternalError(c.id))
		}()
		next.ServeHTTP(w, r)
	})
}
