//go:build race

package files

// stride is how many steps the tests that go through all of them take at once: with the race detector each takes ten times
// as long, and sees nothing in the later ones that it did not see in the first.
const stride = 35
