package wire

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "99999999999999999999": 0, "86400": time.Hour, "soon": 0,
		"Sat, 28 Nov 2026 09:01:30 GMT": 90 * time.Second, "Sat, 28 Nov 2026 08:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q is %v, not %v", header, got, want)
		}
	}
}
