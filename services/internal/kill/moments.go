package kill

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Moment is when to kill, as the end of a sentence that begins with "killed".
type Moment string

// How long Watch waits for something that may not come, and how much later the kill comes at most.
const (
	maxWatch = 300 * time.Millisecond
	maxAim   = 3 * time.Millisecond
	glance   = 200 * time.Microsecond
)

// UpTo draws a time shorter than most.
func UpTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

// Watch waits until what look sees changes, and then a little; false where it did not change in time. The program that is killed has no hook
// for it: moments are found by looking at its folders.
func Watch(random *rand.Rand, look func() time.Time) bool {
	before := look()
	for start := time.Now(); time.Since(start) < maxWatch; time.Sleep(glance) {
		if look().After(before) {
			time.Sleep(UpTo(random, maxAim))
			return true
		}
	}
	return false
}

// Newest is when a file or folder of these patterns (filepath.Match) was last changed.
func Newest(patterns ...string) (last time.Time) {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			panic(err) // a pattern of the caller's own
		}
		for _, path := range paths {
			var info fs.FileInfo
			if info, err = os.Stat(path); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
	}
	return last
}
