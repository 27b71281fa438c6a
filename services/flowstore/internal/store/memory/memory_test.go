package memory_test

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	engine := storetest.Engine{
		Open: func(_ *testing.T, _ string, clock func() time.Time) store.Store { return memory.New(clock) },
	}
	storetest.Run(t, engine)
	t.Run("large", func(t *testing.T) { storetest.RunLarge(t, engine) })
}
