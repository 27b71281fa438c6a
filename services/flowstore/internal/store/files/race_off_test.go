//go:build !race

package files

// stride is how many steps the tests that go through all of them take at once.
const stride = 1
