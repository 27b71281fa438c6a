package files

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/storetest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Engine{Open: openForSuite, Persists: true})
}

func TestConformanceOfLargeThings(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	storetest.RunLarge(t, storetest.Engine{Open: openForSuite, Persists: true})
}

func openForSuite(t *testing.T, dir string, clock func() time.Time) store.Store {
	t.Helper()
	s, err := Open(Options{Data: dir, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
