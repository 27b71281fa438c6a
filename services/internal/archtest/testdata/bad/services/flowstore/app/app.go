// Package app calls a service and a model server.
package app

import (
	_ "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	_ "github.com/tsumugi-dev/tsumugi/services/internal/llm"
)
