package lifecycle

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// Listen opens a TCP address, and a taken port gives a sentence that names it. One beyond loopback is refused, but where
// callers are asked who they are. key is the setting in which the address stands, such as `listen`.
func Listen(key, address string, asks auth.Config) (net.Listener, error) {
	if problem := refusal(address, asks); problem != "" {
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
func CheckAddress(p *config.Problems, key, address string, asks auth.Config) {
	if problem := refusal(address, asks); problem != "" {
		p.Add(key, "%s", problem)
	}
}

// Loopback says whether only this machine can reach an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && loopback(host)
}

// loopback says whether only this machine can reach a host. Names other than localhost are not looked up: what they mean
// may change.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.Unmap().IsLoopback())
}

// refusal says why an address is no good; empty where it is.
func refusal(address string, asks auth.Config) string {
	host, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return fmt.Sprintf("%q must be an address with a port, such as 127.0.0.1:7450", address)
	case asks.On() || loopback(host):
		return ""
	}
	return fmt.Sprintf("%q can be reached from other machines, and nobody is asked for a token there: use a loopback address such as 127.0.0.1, "+
		"or for a service name a file of tokens (auth.tokens)", address)
}

// Unencrypted has the log say that tokens and texts can be read on the way to an address beyond loopback: there is no TLS yet.
func Unencrypted(log *zap.Logger, l net.Listener) {
	if address := l.Addr().String(); !Loopback(address) {
		log.Warn("this address can be reached from other machines, and nothing on the way to it is encrypted: put a proxy with TLS before it, or a private network",
			zap.String("address", address))
	}
}
