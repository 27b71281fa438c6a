package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long the thread of the caller has been on a processor: what neighbours of a shared machine do not change.
func cpuTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
