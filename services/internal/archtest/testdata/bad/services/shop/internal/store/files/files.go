// Package files is an engine that stores proto.
package files

import (
	_ "github.com/tsumugi-dev/tsumugi/gen/tsumugi/shop/v1"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/transport"
)
