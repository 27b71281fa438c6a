// Package turn asks a model.
package turn

import "github.com/tsumugi-dev/tsumugi/services/internal/llm"

// Ask asks.
func Ask(g llm.Generator) llm.Generator { return g }
