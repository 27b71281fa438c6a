package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// The window is the smaller one of the server's word and the person's, less the margin, and it is told where it is the
// person's.
func TestWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		own, margin, told int
		want              int
		warning           string
		fault             llm.Fault
	}{
		"told":                {0, 0, 4096, 4096, "", ""},
		"told, with a margin": {0, 64, 4096, 4032, "", ""},
		"own is smaller":      {1000, 10, 4096, 990, "the window of 1000 tokens is what the backends file says (window): the server tells 4096", ""},
		"own is larger":       {9000, 0, 4096, 4096, "the backends file says a window of 9000 tokens (window), and the server tells 4096: the smaller one holds", ""},
		"own is the same":     {4096, 0, 4096, 4096, "", ""},
		"own alone":           {1000, 0, 0, 1000, "the window of 1000 tokens is what the backends file says (window): the server does not tell its own", ""},
		"nobody":              {0, 0, 0, 0, "", llm.FaultProtocol},
		"all of it margin":    {0, 64, 64, 0, "", llm.FaultRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewServer(Config{Endpoint: Endpoint{Name: "b", Address: "http://h", Window: test.own, Margin: test.margin, Timeouts: llm.DefaultTimeouts()}})
			if warnings := s.Warnings(); warnings != nil {
				t.Errorf("before it was asked it warns %q", warnings)
			}
			got, err := s.Window(test.told)
			var e *llm.Error
			if errors.As(err, &e); got != test.want || (err != nil) != (test.fault != "") || err != nil && e.Fault != test.fault {
				t.Errorf("the window is %d, %v", got, err)
			}
			if warning := strings.Join(s.Warnings(), "; "); warning != test.warning {
				t.Errorf("the warning is %q, not %q", warning, test.warning)
			}
		})
	}
}
