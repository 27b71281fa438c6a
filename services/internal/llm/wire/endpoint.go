package wire

import (
	"crypto/x509"
	"net/url"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// DefaultConcurrency is how many answers, and how many counts, are under way at once where the backends file says nothing.
const DefaultConcurrency = 8

// Endpoint is a model server as the backends file names it. It is the same for every kind.
type Endpoint struct {
	// Name is the backend's name in the backends file.
	Name string
	// Address is the base address, such as `http://127.0.0.1:8080` or `https://gpu.example.org/llama`, without a slash at
	// the end.
	Address string
	// APIKey is the key or password that the server wants; empty for none. It is never logged.
	APIKey string
	// KeySetting is what of the backends file says where the key is, for errors; empty where none does.
	KeySetting string
	// Timeouts are the time limits; each must be positive.
	Timeouts llm.Timeouts
	// Proxy is what requests go through (http, https or socks5); nil: straight to the address.
	Proxy *url.URL
	// CA are the authorities of which one must have signed the certificate of an https address; nil: those of the system.
	CA *x509.CertPool
	// Window is how many tokens prompt and answer may have together, by the word of whoever wrote the file. Where the
	// server tells it, too, the smaller one holds. 0: the server must tell it.
	Window int
	// Margin is how many tokens of the window are kept free.
	Margin int
	// Concurrency is how many answers, and how many counts, are under way at once; others wait. 0: DefaultConcurrency.
	// See also Server.AnswersAtOnce.
	Concurrency int
}
