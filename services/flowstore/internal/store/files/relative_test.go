package files

import (
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// The default data folder is a relative one.
func TestRelativeDataFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := Open(Options{Data: "./data/flowstore"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the update below is what is tested
	id := uuid.MustParse("01900000-0000-7000-8000-000000000001")
	if err := s.Update(t.Context(), namespace.Default, func(tx store.Tx) error {
		return tx.CreateFlow(flow.Flow{ID: id, Name: "f", Created: tx.Now(), Updated: tx.Now(), Next: 1})
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Flow(t.Context(), namespace.Default, id); err != nil {
		t.Error(err)
	}
}
