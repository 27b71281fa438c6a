package memory_test

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/storetest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

var engine = storetest.Engine{
	Open: func(_ *testing.T, _ string, clock func() time.Time) store.Store { return memory.New(clock) },
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, engine)
}

func TestConformanceOfLargeThings(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	storetest.RunLarge(t, engine)
}
