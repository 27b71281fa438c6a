package linecosts_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/linecosts"
)

// TestMemoriesAreApart: what one model is known to count says nothing of another, and goes when only the other is used.
func TestMemoriesAreApart(t *testing.T) {
	t.Parallel()
	all := linecosts.New(4000)
	a, b := all.Of("a"), all.Of("b")
	a.Learn("一行\n", 5)
	if _, known := b.Cost("一行\n"); known {
		t.Error("b knows what a learnt")
	}
	if cost, known := all.Of("a").Cost("一行\n"); !known || cost != 5 {
		t.Errorf("a knows %d, %t", cost, known)
	}
	for i := range 1000 {
		b.Learn(fmt.Sprint(i), i)
	}
	if _, known := a.Cost("一行\n"); known {
		t.Error("4000 bytes hold more than a thousand lines")
	}
}

// TestMemoryIsBounded: a million lines take what was allowed.
func TestMemoryIsBounded(t *testing.T) {
	const allowed = 8 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := linecosts.New(allowed)
	m := all.Of("a")
	for i := range 1_000_000 {
		m.Learn(fmt.Sprint(i, strings.Repeat("x", 100)), i)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > allowed*5/4 || grown < allowed/4 {
		t.Errorf("%d bytes are taken, %d were allowed", grown, allowed)
	}
	runtime.KeepAlive(all)
}
