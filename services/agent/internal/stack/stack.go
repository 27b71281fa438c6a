// Package stack gives a goroutine the room at once that its work will need.
package stack

// size is about what a turn takes, in bytes.
const size = 40 << 10

// Reserve grows the stack of the goroutine that calls it. A new one has 2 KiB, and grows by being copied into twice the room, each time
// with all that it holds: where much is called at once, that is a tenth of the work.
//
//go:noinline
func Reserve() {
	var room [size]byte
	use(room[:])
}

// use keeps the compiler from leaving out what nobody looks at.
//
//go:noinline
func use(room []byte) { room[0] = 1 }
