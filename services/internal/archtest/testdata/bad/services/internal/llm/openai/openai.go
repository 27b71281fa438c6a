// Package openai takes from another kind.
package openai

import _ "github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
