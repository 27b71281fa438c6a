package backends_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// forward passes requests on to a server, whatever host they name.
func forward(t *testing.T, server string) http.Handler {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = to.Host },
		FlushInterval: -1,
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
}

// one gives the only backend of a file with these keys, `{…}`, and files beside it.
func one(t *testing.T, keys string, files ...string) backends.Backend {
	t.Helper()
	set, err := backends.Load(write(t, append([]string{"backends.yaml", "backends: {a: " + keys + "}"}, files...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	generator, err := set.Generator("a")
	if err != nil {
		t.Fatal(err)
	}
	return generator.(backends.Backend)
}

// Every kind speaks TLS with an authority of the file, below a path, and with a key from a file.
func TestTLSBelowAPath(t *testing.T) {
	t.Parallel()
	for kind, fake := range everyKind(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			front := httptest.NewUnstartedServer(http.StripPrefix("/models/one", forward(t, fake.url)))
			front.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that hangs up is a part of the test
			front.StartTLS()
			t.Cleanup(front.Close)
			authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}))
			keys := "kind: " + fake.keys + ", api_key_file: key.txt, address: '" + front.URL + "/models/one/'"
			b := one(t, "{"+keys+", ca: ca.pem}", "key.txt", "hush\n", "ca.pem", authority)
			if got := answerOf(t, b, llm.Request{Prompt: "夜", Sampling: llm.Sampling{MaxTokens: 3}}); got != "糸は夜" {
				t.Errorf("the answer is %q", got)
			}
			if n, err := b.Count(t.Context(), "夜の港"); err != nil || n < 3 {
				t.Errorf("counted %d, %v", n, err)
			}
			_, err := one(t, "{"+keys+"}", "key.txt", "hush").Window(t.Context())
			if err == nil || !strings.Contains(err.Error(), "name the authority that signed it in `ca`") {
				t.Errorf("a certificate of nobody gives %v", err)
			}
		})
	}
}

// Every kind goes through the proxy of the file: the host of the address is known to the proxy alone.
func TestProxy(t *testing.T) {
	t.Parallel()
	for kind, fake := range everyKind(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var hosts []string
			onward := forward(t, fake.url)
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				hosts = append(hosts, r.URL.Host)
				mu.Unlock()
				onward.ServeHTTP(w, r)
			}))
			t.Cleanup(proxy.Close)
			keys := "{kind: " + fake.keys + ", api_key_file: key.txt, address: 'http://models.invalid:99', proxy: '%s'}"
			b := one(t, fmt.Sprintf(keys, proxy.URL), "key.txt", "hush")
			if got := answerOf(t, b, llm.Request{Prompt: "夜", Sampling: llm.Sampling{MaxTokens: 3}}); got != "糸は夜" {
				t.Errorf("the answer is %q", got)
			}
			mu.Lock()
			defer mu.Unlock()
			if hosts = slices.Compact(hosts); !cmp.Equal(hosts, []string{"models.invalid:99"}) {
				t.Errorf("the proxy saw calls to %q", hosts)
			}
			_, err := one(t, fmt.Sprintf(keys, "http://127.0.0.1:1"), "key.txt", "hush").Window(t.Context())
			if err == nil || !strings.Contains(err.Error(), "the proxy http://127.0.0.1:1 cannot be reached") {
				t.Errorf("a proxy that is not there gives %v", err)
			}
		})
	}
}

// A window of the file makes that of every kind smaller, the margin is taken off it, and both are told.
func TestWindowOfTheFile(t *testing.T) {
	t.Parallel()
	for kind, fake := range everyKind(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for keys, want := range map[string]int{"window: 300, margin: 20": 280, "window: 9999, margin: 0": fake.window} {
				b := one(t, "{kind: "+strings.ReplaceAll(fake.keys, ", window: 1024", "")+", api_key_file: key.txt, address: '"+fake.url+"', "+keys+"}", "key.txt", "hush")
				id, err := b.Window(t.Context())
				if err != nil || id.Window != want {
					t.Errorf("with %s the window is %d, %v; want %d", keys, id.Window, err, want)
				}
				if told := b.(llm.Warner).Warnings(); len(told) != 1 || !strings.Contains(told[0], "the backends file says") {
					t.Errorf("with %s it tells %q", keys, told)
				}
			}
		})
	}
}

// What is wrong with the way to a server is told at the start, all at once.
func TestProblemsOfTheWay(t *testing.T) {
	t.Parallel()
	path := write(t, "backends.yaml", `
default: a
backends:
  a: {kind: llamacpp, address: "http://h", ca: missing.pem, proxy: "proxy:3128", window: 0, margin: -1, concurrency: 0}
  b: {kind: koboldcpp, address: "https://h", ca: bad.pem, proxy: "http://me:secret@h", api_key_env: PATH, api_key_file: key.txt}
  c: {kind: openai, server: vllm, address: "https://h", api_key_file: missing.txt, window: 99999999, margin: 70000, concurrency: 257}
  d: {kind: llamacpp, address: "https://h", api_key_file: empty.txt}
  e: {kind: llamacpp, address: "https://h", api_key_file: two.txt, cert: x}
`, "bad.pem", "-----BEGIN PRIVATE KEY-----", "key.txt", "hush", "empty.txt", "\n", "two.txt", "a\nb\n")
	_, err := backends.Load(path)
	if err == nil {
		t.Fatal("no error")
	}
	missing := func(name string) string {
		return "cannot be read: open " + filepath.Join(filepath.Dir(path), name) + ": no such file or directory"
	}
	want := []string{
		"the backends file " + path + ":",
		"backends.a.proxy: must begin with http://, https:// or socks5:// and a host, such as http://proxy.example.org:3128",
		"backends.a.ca: " + missing("missing.pem"),
		"backends.a.window: is 0; it must be from 1 to 16777216 tokens, or be left out where the server tells it",
		"backends.a.margin: is -1; it must be from 0 to 65536 tokens",
		"backends.a.concurrency: is 0; it must be from 1 to 256 calls at once",
		"backends.b.api_key_file: stands beside api_key_env; name one of them",
		"backends.b.proxy: must hold no user name and no password: errors would tell them",
		"backends.b.ca: bad.pem holds no certificate; it must be a PEM file with one or more (-----BEGIN CERTIFICATE-----)",
		"backends.c.api_key_file: " + missing("missing.txt"),
		"backends.c.window: is 99999999; it must be from 1 to 16777216 tokens, or be left out where the server tells it",
		"backends.c.margin: is 70000; it must be from 0 to 65536 tokens",
		"backends.c.concurrency: is 257; it must be from 1 to 256 calls at once",
		"backends.d.api_key_file: the file empty.txt is empty",
		"line 8: backends.e.cert: unknown key",
		"backends.e.api_key_file: the file two.txt holds blanks or characters that no API key has",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestTheRefusedKeyIsNamed by where it comes from.
func TestTheRefusedKeyIsNamed(t *testing.T) {
	t.Setenv("TSUMUGI_TEST_KEY", "wrong")
	server := llmtest.New(t, llmtest.Options{APIKey: "hush"})
	for keys, want := range map[string]string{
		"api_key_file: key.txt": "(api_key_file)", "api_key_env: TSUMUGI_TEST_KEY": "(api_key_env)", "margin: 0": "(api_key_env or api_key_file)",
	} {
		b := one(t, "{kind: llamacpp, address: '"+server.URL+"', "+keys+"}", "key.txt", "wrong")
		if _, err := b.Window(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", keys, err)
		}
	}
}
