//go:build race

package sqlite

// many is how many sessions wait: the race detector makes SQLite forty times as slow.
const many = 1000
