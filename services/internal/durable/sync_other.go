//go:build !linux

package durable

import "os"

// Synchronous is FULL: SQLite syncs the write-ahead log with each commit, on macOS so that the disk means it (fullfsync).
const Synchronous = 2

// openWAL opens nothing: there is nothing to do behind a commit.
func openWAL(string) (*os.File, error) { return nil, nil }

func syncData(*os.File) error { return nil }
