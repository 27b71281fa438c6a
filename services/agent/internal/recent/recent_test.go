package recent

import "testing"

// TestCache: however much is put, so many bytes are held; what is used stays, what is put again is the new one.
func TestCache(t *testing.T) {
	t.Parallel()
	c := Cache[int, string]{Max: 1600}
	for i := range 1000 {
		c.Put(i, "a", 100)
		if _, ok := c.Get(0); !ok {
			t.Fatalf("after %d others the one that is used is gone", i)
		}
		if n := len(c.young) + len(c.old); n > 2*16+1 {
			t.Fatalf("%d are held", n)
		}
	}
	if _, ok := c.Get(500); ok {
		t.Error("one that nobody used is there")
	}
	for range 100 {
		c.Put(0, "b", 100)
	}
	if v, ok := c.Get(0); v != "b" || !ok || c.bytes > 1600 {
		t.Errorf("%q, %v, %d bytes", v, ok, c.bytes)
	}
	c.Put(0, "c", 101)
	if v, ok := c.Get(0); ok {
		t.Errorf("one that is too large is held, or what it took the place of: %q", v)
	}
}
