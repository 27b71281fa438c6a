//go:build !linux

package main

import (
	"errors"
	"time"
)

// cpuTime needs a clock that only Linux has.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("the time on a processor is measured on Linux only; run this there")
}
