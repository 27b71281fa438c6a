package yamlx

import (
	"io"
	"os"
)

// ReadFile reads a file, but never more than Parse looks at.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}
