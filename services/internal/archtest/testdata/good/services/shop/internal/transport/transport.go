// Package transport answers.
package transport

import (
	_ "github.com/tsumugi-dev/tsumugi/gen/tsumugi/shop/v1"
	_ "github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/adapter/wire"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/price"
)
