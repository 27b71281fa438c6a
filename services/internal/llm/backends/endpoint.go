package backends

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

const (
	// maxTimeout is the longest time limit.
	maxTimeout = 24 * time.Hour
	// maxWindow is the largest window, maxMargin the largest margin, in tokens.
	maxWindow = 1 << 24
	maxMargin = 1 << 16
	// maxConcurrency is the most calls at once.
	maxConcurrency = 256
	// maxKeyBytes bounds the file with an API key.
	maxKeyBytes = 16 << 10
)

// endpoint are the keys of every kind that is a server at an address.
type endpoint struct {
	Kind        string       `yaml:"kind"`
	Address     string       `yaml:"address"`
	APIKeyEnv   string       `yaml:"api_key_env"`
	APIKeyFile  string       `yaml:"api_key_file"`
	Proxy       string       `yaml:"proxy"`
	CA          string       `yaml:"ca"`
	Window      *int         `yaml:"window"`
	Margin      int          `yaml:"margin"`
	Concurrency int          `yaml:"concurrency"`
	Timeouts    llm.Timeouts `yaml:"timeouts"`

	dir string // where files that the file names are looked for
	// What the keys name, once they were checked.
	apiKey     string
	keySetting string
	proxy      *url.URL
	ca         *x509.CertPool
}

func newEndpoint(dir string) endpoint {
	return endpoint{Concurrency: wire.DefaultConcurrency, Timeouts: llm.DefaultTimeouts(), dir: dir}
}

func (s *endpoint) files() (all []string) {
	for _, name := range []string{s.APIKeyFile, s.CA} {
		if name != "" {
			all = append(all, beside(s.dir, name))
		}
	}
	return all
}

// at is the server of the backend of that name.
func (s *endpoint) at(name string) wire.Endpoint {
	e := wire.Endpoint{
		Name: name, Address: strings.TrimRight(s.Address, "/"), APIKey: s.apiKey, KeySetting: s.keySetting, Timeouts: s.Timeouts, Proxy: s.proxy, CA: s.ca,
		Margin: s.Margin, Concurrency: s.Concurrency,
	}
	if s.Window != nil {
		e.Window = *s.Window
	}
	return e
}

func (s *endpoint) check(add func(key, format string, args ...any)) {
	if wrong := addressProblem(s.Address); wrong != "" {
		add("address", "%s", wrong)
	}
	s.checkKey(add)
	s.checkWay(add)
	if s.Window != nil {
		between(add, "window", "tokens, or be left out where the server tells it", *s.Window, 1, maxWindow)
	}
	between(add, "margin", "tokens", s.Margin, 0, maxMargin)
	between(add, "concurrency", "calls at once", s.Concurrency, 1, maxConcurrency)
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

// between notes a number that is out of its bounds.
func between(add func(key, format string, args ...any), key, unit string, n, least, most int) {
	if n < least || n > most {
		add(key, "is %d; it must be from %d to %d %s", n, least, most, unit)
	}
}

// checkKey reads the API key from where the file says that it is.
func (s *endpoint) checkKey(add func(key, format string, args ...any)) {
	key, where := "api_key_env", "the variable "+s.APIKeyEnv
	switch {
	case s.APIKeyEnv != "" && s.APIKeyFile != "":
		add("api_key_file", "stands beside api_key_env; name one of them")
		return
	case s.APIKeyEnv != "":
		s.keySetting = key
		if s.apiKey = os.Getenv(s.APIKeyEnv); s.apiKey == "" {
			add(key, "the environment has no variable %s, or it is empty", s.APIKeyEnv)
		}
	case s.APIKeyFile != "":
		key, where = "api_key_file", "the file "+s.APIKeyFile
		s.keySetting = key
		text, err := readAtMost(beside(s.dir, s.APIKeyFile), maxKeyBytes)
		if err != nil {
			add(key, "cannot be read: %v", err)
			return
		}
		if s.apiKey = strings.TrimRight(string(text), "\r\n"); s.apiKey == "" {
			add(key, "%s is empty", where)
		}
	}
	if strings.ContainsFunc(s.apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		add(key, "%s holds blanks or characters that no API key has", where)
	}
}

// checkWay reads what stands between here and the server.
func (s *endpoint) checkWay(add func(key, format string, args ...any)) {
	if s.Proxy != "" {
		u, err := url.Parse(s.Proxy)
		switch {
		case err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5") || u.Hostname() == "":
			add("proxy", "must begin with http://, https:// or socks5:// and a host, such as http://proxy.example.org:3128")
		case u.User != nil:
			add("proxy", "must hold no user name and no password: errors would tell them")
		}
		s.proxy = u
	}
	if s.CA == "" {
		return
	}
	text, err := yamlx.ReadFile(beside(s.dir, s.CA))
	if err != nil {
		add("ca", "cannot be read: %v", err)
		return
	}
	s.ca = x509.NewCertPool()
	if !s.ca.AppendCertsFromPEM(text) {
		add("ca", "%s holds no certificate; it must be a PEM file with one or more (-----BEGIN CERTIFICATE-----)", s.CA)
	}
}

// readAtMost reads a file of at most most bytes.
func readAtMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return text, err
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

// vocabulary is the key of kinds that count with the model's own vocabulary.
type vocabulary struct {
	Tokenizer string `yaml:"tokenizer"`

	opened *tokenizer.Tokenizer
}

// estimate is the tokenizer of a server for which nobody can count.
const estimate = "estimate"

// words are what `tokenizer` may say besides the path of a file.
type words struct {
	// encodings are the names of OpenAI's: of models that have no file of their own.
	encodings bool
	// estimate: nobody counts, and estimates will do.
	estimate bool
}

// check opens what the key names: a file, or one of the words. Without one nothing is opened.
func (v *vocabulary) check(dir string, w words, add func(key, format string, args ...any)) {
	known, err := tokenizer.OpenAI(v.Tokenizer)
	switch {
	case v.Tokenizer == "":
	case v.Tokenizer == estimate && w.estimate:
		v.opened = tokenizer.Estimate()
	case v.Tokenizer == estimate:
		add("tokenizer", "is `estimate`, but this server counts; leave it out, or name the model's vocabulary")
	case err == nil && w.encodings:
		v.opened = known
	case err == nil:
		add("tokenizer", "is %s, an encoding of OpenAI; of the models here it must be the path of the tokenizer.json or .gguf file", v.Tokenizer)
	case strings.ContainsAny(v.Tokenizer, `./\`):
		if v.opened, err = tokenizer.Open(beside(dir, v.Tokenizer)); err != nil {
			add("tokenizer", "%v", err)
		}
	case w.encodings:
		add("tokenizer", "%v, and a file has an extension", err)
	default:
		add("tokenizer", "is %q; it must be the path of a tokenizer.json or .gguf file, and a file has an extension", v.Tokenizer)
	}
}
