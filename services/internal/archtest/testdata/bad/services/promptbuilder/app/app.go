// Package app calls a service.
package app

import (
	_ "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	_ "github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
)
