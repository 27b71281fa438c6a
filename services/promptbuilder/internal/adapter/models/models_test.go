package models_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/models"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// servers are two model servers in a backends file whose default is a.
func servers(t *testing.T) *backends.Set {
	t.Helper()
	a, b := llmtest.New(t, llmtest.Options{BOS: true}), llmtest.New(t, llmtest.Options{Window: 100})
	set, err := backends.Parse([]byte("default: a\nbackends:\n" +
		"  a: {kind: llamacpp, address: '" + a.URL + "'}\n" +
		"  b: {kind: llamacpp, address: '" + b.URL + "'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

func TestNames(t *testing.T) {
	t.Parallel()
	set := servers(t)
	for _, tt := range []struct{ standard, name, want string }{
		{"", "", "a"}, {"b", "", "b"}, {"b", "a", "a"}, {"", "b", "b"},
	} {
		b, err := models.New(set, tt.standard, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Counter(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Window(t.Context())
		if err != nil || got.Backend != tt.want || got.Kind != "llamacpp" || got.Window == 0 || got.Tokenizer == "" {
			t.Errorf("%q with default %q is %+v, error %v; want %s", tt.name, tt.standard, got, err, tt.want)
		}
	}
	b, err := models.New(set, "", prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Counter("c")
	if unknown := (*llm.UnknownBackendError)(nil); !errors.As(err, &unknown) || !cmp.Equal(*unknown, llm.UnknownBackendError{Name: "c", Known: []string{"a", "b"}}) {
		t.Errorf("error %v, want an UnknownBackendError with all names", err)
	}
}

// A window that a person wrote down is told to be that, in the list of backends; whether a model takes tools is as it says now.
func TestWarnings(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{Tools: true})
	set, err := backends.Parse([]byte("default: a\nbackends:\n" +
		"  a: {kind: llamacpp, address: '" + server.URL + "', window: 1000}\n" +
		"  b: {kind: llamacpp, address: '" + server.URL + "', window: 9999}\n" +
		"  c: {kind: llamacpp, address: '" + server.URL + "', margin: 96}\n"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	known, err := models.New(set, "", prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	all := story.NewBuilder(known, nil, story.Defaults{}).Backends(t.Context())
	for i, want := range []struct {
		window   int
		warnings []string
	}{
		{1000, []string{"the window of 1000 tokens is what the backends file says (window): the server tells 4096"}},
		{4096, []string{"the backends file says a window of 9999 tokens (window), and the server tells 4096: the smaller one holds"}},
		{4000, nil},
	} {
		if got := all[i]; got.Err != nil || got.Identity.Window != want.window || !slices.Equal(got.Warnings, want.warnings) || !got.Told.Tools {
			t.Errorf("got %+v, not a window of %d with %q and tools", got, want.window, want.warnings)
		}
	}
}

func TestCountsAndMetrics(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	b, err := models.New(servers(t), "", metrics)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Counter("")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Count(t.Context(), "夜の港"); err != nil || n != 4 {
		t.Errorf("%d tokens, error %v; want 4", n, err)
	}
	if pieces, err := c.Pieces(t.Context(), "夜の"); err != nil || !slices.Equal(pieces, []int{0, 3, 3}) {
		t.Errorf("pieces %v, error %v", pieces, err)
	}
	want := "# HELP tsumugi_promptbuilder_counts_total Texts that model servers were asked to count.\n" +
		"# TYPE tsumugi_promptbuilder_counts_total counter\ntsumugi_promptbuilder_counts_total{backend=\"a\"} 2\n"
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want), "tsumugi_promptbuilder_counts_total"); err != nil {
		t.Error(err)
	}
	if _, err := models.New(servers(t), "", metrics); err == nil {
		t.Error("the metrics could be registered twice")
	}
}
