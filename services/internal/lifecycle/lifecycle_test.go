package lifecycle

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// recorder keeps what happened, in order.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, what)
}

// part is one that runs until it is stopped.
func (r *recorder) part(name string) Part {
	stopped := make(chan struct{})
	return Part{
		Name:    name,
		Serve:   func() error { <-stopped; return nil },
		Unready: func() { r.note("unready " + name) },
		Drain:   func() { r.note("drain " + name) },
		Stop:    func(context.Context) error { close(stopped); r.note("stop " + name); return nil },
		Close:   func(context.Context) error { r.note("close " + name); return nil },
	}
}

func quick() Options {
	return Options{Log: zap.NewNop(), Stop: StopConfig{Graceful: time.Minute, Total: time.Minute}, Signals: make(chan os.Signal)}
}

func sent(s ...os.Signal) <-chan os.Signal {
	c := make(chan os.Signal, len(s))
	for _, x := range s {
		c <- x
	}
	return c
}

func TestStopOrder(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		r := &recorder{}
		o := quick()
		o.Signals = sent(s)
		if err := Run(t.Context(), o, r.part("http"), r.part("front"), r.part("inner")); err != nil {
			t.Error(err)
		}
		want := []string{
			"unready http", "unready front", "unready inner", "drain http", "drain front", "drain inner",
			"stop http", "close http", "stop front", "close front", "stop inner", "close inner",
		}
		if !slices.Equal(r.list, want) {
			t.Errorf("%v: %q", s, r.list)
		}
	}
}

// cases-gostyle 19: one server fails, and the process must not live on half dead.
func TestAFailureStopsEverything(t *testing.T) {
	t.Parallel()
	broken := errors.New("listener closed")
	for name, serve := range map[string]func() error{
		"error": func() error { return broken },
		"panic": func() error { panic("at night") },
	} {
		r := &recorder{}
		err := Run(t.Context(), quick(), r.part("store"), Part{Name: "gRPC on 127.0.0.1:7450", Serve: serve})
		if err == nil || !strings.HasPrefix(err.Error(), "gRPC on 127.0.0.1:7450 failed: ") {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Contains(r.list, "close store") {
			t.Errorf("%s: the store was not closed: %q", name, r.list)
		}
	}
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r := &recorder{}
	if err := Run(over, quick(), r.part("a")); err != nil || len(r.list) != 4 {
		t.Errorf("context: %q, %v", r.list, err)
	}
	done := Part{Name: "done", Serve: func() error { return nil }}
	if err := Run(t.Context(), quick(), done, Part{Name: "idle"}); err != nil {
		t.Errorf("nothing left to do: %v", err)
	}
}

func TestStopErrorsAreAllTold(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Signals = sent(os.Interrupt)
	bad := func(context.Context) error { return errors.New("disk full") }
	r := &recorder{}
	err := Run(t.Context(), o, Part{Name: "a", Stop: bad}, Part{Name: "b", Close: bad}, r.part("c"))
	if err == nil || err.Error() != "stopping a: disk full\nstopping b: disk full" || !slices.Contains(r.list, "close c") {
		t.Errorf("%v, %q", err, r.list)
	}
}

func TestStopThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	hang := Part{Name: "a", Stop: func(context.Context) error { <-release; return nil }}
	o := quick()
	o.Signals = sent(os.Interrupt, os.Interrupt)
	if err := Run(t.Context(), o, hang); !errors.Is(err, ErrSecondSignal) {
		t.Errorf("second signal: %v", err)
	}
	o = quick()
	o.Signals, o.Stop.Total = sent(os.Interrupt), 20*time.Millisecond
	if err := Run(t.Context(), o, hang); err == nil || !strings.Contains(err.Error(), "not done after 20ms") {
		t.Errorf("total: %v", err)
	}
}

// A stop that outlasts Graceful cuts, and stores still have until Total.
func TestGracefulAndTotal(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Signals, o.Stop.Graceful = sent(os.Interrupt), time.Millisecond
	var late error
	err := Run(t.Context(), o,
		Part{Name: "server", Stop: func(ctx context.Context) error { <-ctx.Done(); return nil }},
		Part{Name: "store", Close: func(ctx context.Context) error { late = ctx.Err(); return nil }},
	)
	if err != nil || late != nil {
		t.Errorf("%v, the store had no time: %v", err, late)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	l, err := Listen("listen", "127.0.0.1:0", auth.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for address, want := range map[string]string{
		taken:          "listen: the address " + taken + " is in use by another program",
		"0.0.0.0:7450": `listen: "0.0.0.0:7450" can be reached from other machines, and nobody is asked for a token there`,
		":7450":        "can be reached from other machines",
		"[::]:1":       "can be reached from other machines",
		"10.1.2.3:1":   "can be reached from other machines",
		"example.jp:1": "can be reached from other machines",
		"127.0.0.1":    "must be an address with a port",
		"":             "must be an address with a port",
		"127.0.0.1:x":  "cannot be opened",
	} {
		l, err := Listen("listen", address, auth.Config{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
		}
		if l != nil {
			l.Close()
		}
	}
	// With a file of tokens any address will do, and the log says that nothing is encrypted.
	core, logs := observer.New(zap.InfoLevel)
	for address, told := range map[string]int{"0.0.0.0:0": 1, "127.0.0.1:0": 0} {
		l, err := Listen("listen", address, auth.Config{Tokens: "tokens.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		Unencrypted(zap.New(core), l)
		l.Close()
		if n := len(logs.TakeAll()); n != told {
			t.Errorf("%s: %d lines", address, n)
		}
	}
	for _, address := range []string{"127.0.0.1:1", "localhost:1", "[::1]:1", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"} {
		if !Loopback(address) {
			t.Errorf("%s is loopback", address)
		}
	}
}

func TestStopConfigCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []StopConfig{DefaultStopConfig(), {}} {
		if err := config.Load(&c, config.Source{}); err != nil {
			t.Error(err)
		}
	}
	c := StopConfig{Delay: time.Second, Graceful: time.Second, Total: time.Second}
	if err := config.Load(&c, config.Source{}); err == nil {
		t.Error("a total shorter than its parts is accepted")
	}
}
