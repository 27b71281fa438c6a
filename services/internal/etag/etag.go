// Package etag makes the short texts by which a caller says which version of a thing he read (AIP-154), and refuses those
// of an older one.
package etag

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
)

// size is how much of the hash an etag holds, in bytes: two versions never have the same by chance.
const size = 16

// Digest collects the values that a thing consists of. Each is written with its kind and length, so that what stands in one
// field is never taken for what stands in the next.
type Digest struct {
	sum hash.Hash
	// waiting is what the hash has not seen yet: written piece by piece, numbers would cost ten times what they cost now.
	waiting []byte
}

// block is how much waits for the hash at most, but for a long text.
const block = 4096

// New makes an empty Digest.
func New() *Digest { return &Digest{sha256.New(), make([]byte, 0, block)} }

// room makes room for so many bytes.
func (d *Digest) room(n int) {
	if len(d.waiting)+n > block {
		d.sum.Write(d.waiting)
		d.waiting = d.waiting[:0]
	}
}

// Text adds a text.
func (d *Digest) Text(s string) {
	d.Int(int64(len(s)))
	d.room(len(s))
	d.waiting = append(d.waiting, s...)
}

// Optional adds a text that may not be given; nil is another value than the empty text.
func (d *Digest) Optional(s *string) {
	if s == nil {
		d.Int(-1)
		return
	}
	d.Text(*s)
}

// Texts adds a list.
func (d *Digest) Texts(list []string) {
	d.Int(int64(len(list)))
	for _, s := range list {
		d.Text(s)
	}
}

// Int adds a number, such as a count, or a time.
func (d *Digest) Int(n int64) {
	d.room(8)
	d.waiting = binary.LittleEndian.AppendUint64(d.waiting, uint64(n))
}

// Bytes adds bytes whose number is always the same, such as those of an id.
func (d *Digest) Bytes(b []byte) {
	d.room(len(b))
	d.waiting = append(d.waiting, b...)
}

// String gives the etag: 22 characters of A-Z, a-z, 0-9, - and _.
func (d *Digest) String() string {
	d.room(block + 1)
	return base64.RawURLEncoding.EncodeToString(d.sum.Sum(nil)[:size])
}

// StaleError says that a thing changed after the caller had read it. It is answered with ABORTED.
type StaleError struct {
	// Name is what the contract calls the thing, Given the etag that the caller has, Current the one of the thing now.
	Name, Given, Current string
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s changed since it was read: its etag is %q now, and the request is for %q; read it again and repeat what still makes sense",
		e.Name, e.Current, e.Given)
}

// Check refuses an etag that is not the current one: *StaleError. An empty one asks for no check, and then current is not
// called: it hashes all of the thing.
func Check(name, given string, current func() string) error {
	if given == "" {
		return nil
	}
	if now := current(); now != given {
		return &StaleError{Name: name, Given: given, Current: now}
	}
	return nil
}
