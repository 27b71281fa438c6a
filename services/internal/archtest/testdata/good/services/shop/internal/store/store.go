// Package store is the port.
package store

// Port keeps.
type Port interface{ Close() error }
