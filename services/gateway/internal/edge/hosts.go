package edge

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// knownHosts answers only for loopback names and the given ones. A web page whose own name was made to resolve to this
// machine (DNS rebinding) could otherwise talk to it with the rights of whoever opened the page.
func knownHosts(next http.Handler, names []string) http.Handler {
	known := map[string]bool{"localhost": true}
	for _, name := range names {
		known[hostName(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		if !known[name] && !loopback(name) {
			refuse(w, r, unknownHost(r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostName is a host without port, brackets and final dot, in lower case.
func hostName(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// loopback says whether name is an address of this machine alone.
func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

func unknownHost(host string) *apierr.Error {
	return apierr.New(codes.PermissionDenied, problem.UnknownHost,
		fmt.Sprintf("this server does not answer for the host %q; use a loopback address, or add the name to the gateway's setting `hosts`", host),
		"host", host)
}
