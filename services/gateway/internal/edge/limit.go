package edge

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// busyRetry is how long a caller waits when too many requests are running.
const busyRetry = time.Second

// limit refuses requests beyond the number that may run at once: each may hold a body in memory.
func limit(next http.Handler, most int) http.Handler {
	slots := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			e := apierr.New(codes.ResourceExhausted, problem.LimitExceeded,
				fmt.Sprintf("%d requests are running, as many as the gateway's setting `max_in_flight` allows; try again shortly", most),
				"limit", strconv.Itoa(most))
			e.RetryAfter = busyRetry
			refuse(w, r, e)
		}
	})
}
