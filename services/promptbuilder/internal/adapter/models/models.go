// Package models lets the domain count with the model servers of the backends file.
package models

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// Counter is an llm.Counter as the domain sees it. Errors pass through as they are.
type Counter struct{ llm.Counter }

// Window asks the server who it is.
func (c Counter) Window(ctx context.Context) (story.Backend, error) {
	id, err := c.Counter.Window(ctx)
	return story.Backend(id), err
}

// Pieces asks for the token borders.
func (c Counter) Pieces(ctx context.Context, text string) ([]int, error) {
	pieces, err := c.Counter.Pieces(ctx, text)
	if errors.Is(err, llm.ErrNoPieces) {
		return nil, fmt.Errorf("%w: %w", fit.ErrNoPieces, err)
	}
	return pieces, err
}
