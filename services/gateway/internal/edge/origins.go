package edge

import (
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// sameOrigin refuses writes that a browser sends for a page of another origin (field/review-agent.md S11): such a page could otherwise
// write, and with a token that it came by decide, from the machine of whoever opened it. Programs that are no browsers say nothing of
// origins. Reads are let through: what is answered names no other origin, so that no browser shows it to one.
func sameOrigin(next http.Handler) http.Handler {
	check := http.NewCrossOriginProtection()
	check.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { refuse(w, r, crossOrigin(r.Header.Get("Origin"))) }))
	return check.Handler(next)
}

func crossOrigin(origin string) *apierr.Error {
	return apierr.New(codes.PermissionDenied, problem.CrossOrigin,
		fmt.Sprintf("a browser sent this for a page of another origin (%q), which may not write here; send it from a page of this server, or from a program", origin),
		"origin", origin)
}
