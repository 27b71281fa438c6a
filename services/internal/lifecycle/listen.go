package lifecycle

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// Listen opens a TCP address. One beyond loopback is refused, and a taken port gives a sentence that names it. key is the
// setting in which the address stands, such as `listen`.
func Listen(key, address string) (net.Listener, error) {
	if problem := beyond(address); problem != "" {
		return nil, fmt.Errorf("%s: %s", key, problem)
	}
	l, err := (&net.ListenConfig{}).Listen(background, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: the address %s is in use by another program; stop that one or set another address", key, address)
	case err != nil:
		return nil, fmt.Errorf("%s: the address %s cannot be opened: %w", key, address, err)
	}
	return l, nil
}

// CheckAddress notes what Listen would refuse without opening it.
func CheckAddress(p *config.Problems, key, address string) {
	if problem := beyond(address); problem != "" {
		p.Add(key, "%s", problem)
	}
}

// Loopback says whether only this machine can reach an address.
func Loopback(address string) bool { return beyond(address) == "" }

// beyond says why an address is no good for a server that knows nobody's name; empty where it is. Names other than
// localhost are not looked up: what they mean may change.
func beyond(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Sprintf("%q must be an address with a port, such as 127.0.0.1:7450", address)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || (err == nil && ip.Unmap().IsLoopback()) {
		return ""
	}
	return fmt.Sprintf("%q can be reached from other machines, and there is no authentication yet: use a loopback address such as 127.0.0.1", address)
}
