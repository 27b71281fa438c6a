package llm

import "time"

// Timeouts are how long a backend may take. An answer has no total limit: a big model on a CPU writes for many minutes.
type Timeouts struct {
	// Connect is for the connection alone.
	Connect time.Duration `yaml:"connect"`
	// Window is for saying who the server is and how large its window is.
	Window time.Duration `yaml:"window"`
	// Count is for counting one text.
	Count time.Duration `yaml:"count"`
	// FirstByte is for reading the prompt: from the request to the first piece of the answer.
	FirstByte time.Duration `yaml:"first_byte"`
	// Idle is for the time between two pieces of an answer.
	Idle time.Duration `yaml:"idle"`
}

// DefaultTimeouts are those of a backend that names none: 5 s to say who it is, 10 s to count (field/wannabe.md 1.5), and
// room for a long prompt on a CPU.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Connect:   3 * time.Second,
		Window:    5 * time.Second,
		Count:     10 * time.Second,
		FirstByte: 10 * time.Minute,
		Idle:      2 * time.Minute,
	}
}
