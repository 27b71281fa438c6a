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

// Write adds to the end. A write that the hook makes fail leaves half of its bytes, as a full disk does.
func (h *handle) Write(p []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	err := h.fs.step(OpWrite, h.name)
	switch {
	case err == nil:
		h.add(p)
		return len(p), nil
	case errors.Is(err, ErrPretend):
		return len(p), nil
	case errors.Is(err, ErrCut):
		return 0, pathError(OpWrite, h.name, err)
	}
	h.add(p[:len(p)/2])
	return len(p) / 2, pathError(OpWrite, h.name, err)
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
	case !errors.Is(err, ErrPretend) && !errors.Is(err, ErrCut):
		h.file.dirty = false
	}
	return pathError(OpSync, h.name, err)
}

// Close ends the writing and makes nothing durable.
func (h *handle) Close() error {
	return h.fs.do(OpClose, h.name, func() error { return nil })
}
