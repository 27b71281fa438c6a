package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/storetest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Engine {
		t.Helper()
		path := filepath.Join(t.TempDir(), "agent.db")
		return func(t *testing.T) store.Store {
			t.Helper()
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
	})
}
