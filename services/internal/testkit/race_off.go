//go:build !race

package testkit

// Race says that the tests run with the race detector.
const Race = false
