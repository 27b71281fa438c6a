package folder

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

// around is how many lines are shown around a change.
const around = 3

// unified is the whole unified diff of two texts; empty where they are equal.
func unified(from, to, before, after string) (string, error) {
	diff, err := udiff.ToUnified(from, to, before, udiff.Lines(before, after), around)
	if err != nil {
		return "", fmt.Errorf("make the diff: %w", err)
	}
	return diff, nil
}
