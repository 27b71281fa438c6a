package backends

import (
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Check loads the backends file that the value of a key names, as Load does, and notes what is wrong with it under that
// key: so it is told together with all else that is wrong in the settings. The Set is nil then.
func Check(p *config.Problems, key, path string) *Set {
	set, err := Load(path)
	if err == nil {
		return set
	}
	var wrong *yamlx.Error
	if !errors.As(err, &wrong) {
		p.Add(key, "%v", err)
		return nil
	}
	for _, problem := range wrong.Problems {
		p.Add(key, "the file %s: %v", path, problem)
	}
	return nil
}
