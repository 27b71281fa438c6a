package format_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// No name is given that is in use, or was given before, in whatever order hands take names far ahead and near.
func TestNamesAreGivenOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		used := map[int]bool{}
		take := func(names *format.Names, slot int) {
			used[slot] = true
			names.Take(slot)
		}
		names := format.NewNames(rapid.IntRange(0, format.Slots).Draw(t, "next"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				take(&names, rapid.IntRange(0, format.Slots-1).Draw(t, "slot"))
			case 1:
				take(&names, min(names.Next()+rapid.IntRange(0, 40).Draw(t, "near"), format.Slots-1))
			default:
				names.GoOn()
				for range rapid.IntRange(1, 100).Draw(t, "many") {
					room := names.Room()
					slot, ok := names.Give()
					if ok != (room > 0) || ok && (used[slot] || slot >= format.Slots) {
						t.Fatalf("%d is given with room for %d, in use: %v", slot, room, used[slot])
					}
					used[slot] = used[slot] || ok
				}
			}
		}
	})
}

// One name far ahead does not use up those before it, and when those are used up the ones behind it come.
func TestNamesBeforeAndBehindAHandsName(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		next       int
		taken      []int
		from, room int
	}{
		"none":                       {7, nil, 7, format.Slots - 7},
		"the last one":               {7, []int{format.Slots - 1}, 7, format.Slots - 8},
		"not far":                    {7, []int{160_000}, 160_001, format.Slots - 160_001},
		"beyond the half":            {0, []int{600_000}, 0, 600_000},
		"two":                        {0, []int{600_000, 700_000, 500_000}, 0, 500_000},
		"between two":                {550_000, []int{600_000, 900_000}, 600_001, 299_999},
		"fewer behind than before":   {0, []int{950_000, 860_000}, 0, 860_000},
		"all":                        {format.Slots - 1, []int{format.Slots - 1}, format.Slots, 0},
		"a counter that hands ended": {format.Slots, []int{0, 1, 2, format.Slots - 1}, 3, format.Slots - 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := format.NewNames(tt.next)
			for _, slot := range tt.taken {
				names.Take(slot)
			}
			names.GoOn()
			if names.Next() != tt.from || names.Room() != tt.room {
				t.Errorf("%d from %d on", names.Room(), names.Next())
			}
			if behind := format.NamesBehind(tt.taken); tt.next == 0 && behind.Room() < tt.room {
				t.Errorf("in order: %d from %d on", behind.Room(), behind.Next())
			}
		})
	}
}

// When those before it are nearly used up, fewer than the largest writing takes, the ones behind it come.
func TestNamesGoOnBehindAHandsName(t *testing.T) {
	t.Parallel()
	names := format.NewNames(0)
	names.Take(600_000)
	names.Take(format.Slots - 1)
	for range 500_001 {
		names.GoOn()
		if _, ok := names.Give(); !ok || names.Next() > 600_000 {
			t.Fatalf("at %d: %v", names.Next(), ok)
		}
	}
	names.GoOn()
	if names.Next() != 600_001 || names.Room() != format.Slots-600_002 {
		t.Errorf("%d from %d on", names.Room(), names.Next())
	}
}
