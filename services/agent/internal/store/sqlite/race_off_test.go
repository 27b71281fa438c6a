//go:build !race

package sqlite

// many is how many sessions wait.
const many = 10_000
