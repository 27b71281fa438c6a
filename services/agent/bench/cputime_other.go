//go:build !unix

package main

import (
	"errors"
	"time"
)

// cpuTime needs a call that Unix has.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("the time on a processor is measured on Unix only; run this there")
}
