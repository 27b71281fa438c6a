// Package model gives generations the model servers of the backends file.
package model

import (
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
)

// Backends is a generation.Models over a backends file.
type Backends struct{ Set *backends.Set }

// Generator gives a backend by name, the default one for the empty name.
func (b Backends) Generator(name string) (llm.Generator, error) {
	g, err := b.Set.Generator(name)
	if unknown := new(backends.UnknownError); errors.As(err, &unknown) {
		return nil, &generation.UnknownBackendError{Name: unknown.Name, Known: unknown.Known}
	}
	return g, err
}
