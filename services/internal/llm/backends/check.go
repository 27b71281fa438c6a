package backends

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// Check loads the backends file that the value of a key names, as Load does, and notes what is wrong with it under that
// key: so it is told together with all else that is wrong in the settings. The Set is nil then.
func Check(p *config.Problems, key, path string) *Set {
	set, err := Load(path)
	p.AddFile(key, path, err)
	return set
}

// CheckChoice is Check for Choose: what it told stands beside the Set.
func CheckChoice(p *config.Problems, key, path, providers string) (set *Set, told Told) {
	set, told, err := Choose(path, providers)
	p.AddFile(key, path, err)
	return set, told
}
