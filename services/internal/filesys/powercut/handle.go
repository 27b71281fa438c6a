package powercut

import (
	"errors"
	"slices"
)

// handle is a file that is open for writing.
type handle struct {
	fs   *FS
	name string
	file *file
}

// Write adds to the end. On a fault half of the bytes are there, as on a disk that became full.
func (h *handle) Write(p []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	err := h.fs.step(OpWrite, h.name)
	switch {
	case err == nil:
		h.add(p)
	case isFault(err):
		h.add(p[:len(p)/2])
		return len(p) / 2, pathError(OpWrite, h.name, err)
	case !errors.Is(err, ErrPretend):
		return 0, pathError(OpWrite, h.name, err)
	}
	return len(p), nil
}

// isFault says that the disk failed, and not the power or the process.
func isFault(err error) bool {
	return !errors.Is(err, ErrCut) && !errors.Is(err, ErrKilled) && !errors.Is(err, ErrPretend)
}

func (h *handle) add(p []byte) {
	// Clipped: what was made durable shares the array.
	h.file.set(append(slices.Clip(h.file.data), p...), h.fs.tick())
}

// Sync makes the bytes durable.
func (h *handle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	err := h.fs.step(OpSync, h.name)
	switch {
	case err == nil:
		h.file.sync()
	case isFault(err):
		h.file.dirty = false
	}
	return pathError(OpSync, h.name, err)
}

// Close ends the writing and makes nothing durable.
func (h *handle) Close() error {
	return h.fs.do(OpClose, h.name, func() error { return nil })
}
