// Package bank is an adapter that knows another and the transport.
package bank

import (
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/adapter/post"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/transport"
)
