package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Good is a server without faults, for those of what stands in front of it.
type Good struct {
	Address string
	// Path is the end of the path at which it makes text.
	Path string
}

// front is a proxy in front of a good server. answer may answer a request for text itself; it is told which request on its
// connection it is, from 1. It says how often text was asked for.
func front(t *testing.T, good Good, answer func(w http.ResponseWriter, nth int64) bool) (address string, asked *atomic.Int64) {
	t.Helper()
	behind, err := url.Parse(good.Address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	asked = new(atomic.Int64)
	type number struct{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nth := r.Context().Value(number{}).(*atomic.Int64).Add(1) //nolint:forcetypeassert // ConnContext below
		if strings.HasSuffix(r.URL.Path, good.Path) {
			asked.Add(1)
			if answer(w, nth) {
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, number{}, new(atomic.Int64))
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, asked
}

// refusesText: a server that says well who it is and counts may still turn a request for text away. Some kinds ask it something
// else before, so that what stands in front of a server as a whole never answers this request.
func (f Faults) refusesText(t *testing.T) {
	for status, want := range map[int]llm.Fault{
		http.StatusTooManyRequests: llm.FaultBusy, http.StatusServiceUnavailable: llm.FaultBusy, http.StatusBadGateway: llm.FaultUnreachable,
		http.StatusUnauthorized: llm.FaultRefused, http.StatusInternalServerError: llm.FaultProtocol, http.StatusOK: llm.FaultProtocol,
	} {
		address, asked := front(t, f.Good(t), func(w http.ResponseWriter, _ int64) bool {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>")
			return true
		})
		err := failure(t, f.At(t, address, llm.DefaultTimeouts()))
		e := typed(t, err, want)
		if asked.Load() != 1 || want == llm.FaultBusy && e.RetryAfter != 7*time.Second {
			t.Errorf("%d: asked %d times, try again after %v, %v", status, asked.Load(), e.RetryAfter, err)
		}
	}
}

// once: no prompt is sent twice, also where a server closes the connections that it had kept.
func (f Faults) once(t *testing.T) {
	address, generations := front(t, f.Good(t), func(_ http.ResponseWriter, nth int64) bool {
		if nth > 1 {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	b := f.At(t, address, llm.DefaultTimeouts())
	for range 2 {
		if _, err := b.Window(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Count(t.Context(), "夜"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tell(t, b); !errors.Is(err, io.EOF) || generations.Load() != 1 {
		t.Errorf("the server was asked for text %d times, %v", generations.Load(), err)
	}
}

// secret is a prompt that no error may repeat.
const secret = "夜の港で、彼女は紡いだ糸を見つめた。「もう戻れない」と言った。"

// quotes: a server may repeat the prompt where it complains of it; our errors never do.
func (f Faults) quotes(t *testing.T) {
	plain, _ := json.Marshal("cannot read " + secret + " (nothing behind it)") // plain values: cannot fail
	bare := string(plain)
	told := false
	for _, body := range []string{
		`{"error": {"message": ` + bare + `, "code": 400, "status": "INVALID_ARGUMENT"}}`, `{"error": ` + bare + `}`,
		`{"detail": {"msg": ` + bare + `}}`, `{"detail": ` + bare + `}`, bare,
	} {
		for _, way := range []struct {
			status int
			kind   string
			before string
		}{{400, "application/json", ""}, {500, "application/json", ""}, {503, "application/json", ""}, {200, "text/event-stream", "data: "}, {200, "application/x-ndjson", ""}} {
			address, _ := front(t, f.Good(t), func(w http.ResponseWriter, _ int64) bool {
				w.Header().Set("Content-Type", way.kind)
				w.WriteHeader(way.status)
				_, _ = io.WriteString(w, way.before+body+"\n\n")
				return true
			})
			err := failure(t, f.At(t, address, llm.DefaultTimeouts()))
			for from := range secret {
				if upto := from + 24; upto <= len(secret) && strings.Contains(err.Error(), secret[from:upto]) {
					t.Fatalf("%d %s: %v", way.status, body, err)
				}
			}
			told = told || strings.Contains(err.Error(), "cannot read") && strings.Contains(err.Error(), "nothing behind it")
		}
	}
	if !told {
		t.Error("what is no quote is not told")
	}
}

// failure is how an answer to the secret prompt fails.
func failure(t *testing.T, b Backend) error {
	t.Helper()
	stream, err := b.Generate(t.Context(), Subject{}.request(secret, 9))
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // it is broken
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}
