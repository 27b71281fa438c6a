// Package price is domain: values in, values out.
package price

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/shop/internal/store"
)

// Item is documented.
type Item struct {
	ID    uuid.UUID
	Since time.Time
}

// Kinds are documented as a group.
const (
	KindA = 1
	KindB = 2
)

// Error needs no comment, and neither does a method of a type that nobody sees.
type clock struct{}

func (clock) Now() time.Time { return time.Time{} }

// Age uses a variable that has the name of a package.
func Age(s store.Port) time.Time {
	time := clock{}
	return time.Now()
}
