// Package files is an engine.
package files

import (
	"os"

	"github.com/tsumugi-dev/tsumugi/services/shop/internal/store"
)

// Open opens.
func Open() (store.Port, error) { _, err := os.Open("x"); return nil, err }
