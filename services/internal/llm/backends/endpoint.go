package backends

import (
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// maxTimeout is the longest time limit.
const maxTimeout = 24 * time.Hour

// endpoint are the keys of every kind that is a server at an address.
type endpoint struct {
	Kind      string       `yaml:"kind"`
	Address   string       `yaml:"address"`
	APIKeyEnv string       `yaml:"api_key_env"`
	Timeouts  llm.Timeouts `yaml:"timeouts"`

	apiKey string
}

func newEndpoint() endpoint { return endpoint{Timeouts: llm.DefaultTimeouts()} }

// address is without a slash at the end.
func (s *endpoint) address() string { return strings.TrimRight(s.Address, "/") }

func (s *endpoint) check(add func(key, format string, args ...any)) {
	if wrong := addressProblem(s.Address); wrong != "" {
		add("address", "%s", wrong)
	}
	if s.APIKeyEnv != "" {
		if s.apiKey = os.Getenv(s.APIKeyEnv); s.apiKey == "" {
			add("api_key_env", "the environment has no variable %s, or it is empty", s.APIKeyEnv)
		}
		if strings.ContainsFunc(s.apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
			add("api_key_env", "the variable %s holds blanks or characters that no API key has", s.APIKeyEnv)
		}
	}
	for _, limit := range []struct {
		key string
		d   time.Duration
	}{
		{"connect", s.Timeouts.Connect},
		{"window", s.Timeouts.Window},
		{"count", s.Timeouts.Count},
		{"first_byte", s.Timeouts.FirstByte},
		{"idle", s.Timeouts.Idle},
	} {
		if limit.d <= 0 || limit.d > maxTimeout {
			add("timeouts."+limit.key, "is %v; it must be more than 0s and at most %v", limit.d, maxTimeout)
		}
	}
}

// addressProblem says what is wrong with a base address. A secret in it would be in every error and every stored node.
func addressProblem(address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "is missing; it must be the base address of the server, such as http://127.0.0.1:8080"
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "must begin with http:// or https:// and a host, such as http://127.0.0.1:8080"
	case u.User != nil:
		return "must hold no user name and no password; name the variable with the API key in api_key_env"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "must end with host, port or path; what follows ? or # is not sent"
	}
	return ""
}
