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
