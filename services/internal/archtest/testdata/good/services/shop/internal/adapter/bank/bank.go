// Package bank is an adapter.
package bank

import (
	_ "github.com/tsumugi-dev/tsumugi/gen/tsumugi/shop/v1"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/adapter/bank/wire"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/adapter/wire"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/price"
)
