//go:build race

package testkit

// Race says that the tests run with the race detector, with which a test that goes through everything may take less: it makes
// work on one goroutine ten times as slow or more, and finds nothing there.
const Race = true
