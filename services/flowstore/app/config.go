package app

import (
	"path/filepath"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Config are the settings of flowstore.
type Config struct {
	// Data is the folder of all namespaces, `<data>/<namespace>/`. It is made where it is not there.
	Data string `yaml:"data" help:"folder of nodes and flows"`
}

// DefaultConfig keeps the data below the working folder.
func DefaultConfig() Config { return Config{Data: "./tsumugi-data/flowstore"} }

// Check finds settings that cannot be.
func (c Config) Check(p *config.Problems) {
	if c.Data == "" {
		p.Add("data", "must name a folder")
	}
}

// ConfigFile is where the config.yaml of the namespace of requests without authentication lies, or will lie. Its keys of
// model servers are for `tsumugi serve` (docs/backends.md); flowstore never writes the file again.
func (c Config) ConfigFile() string { return filepath.Join(c.Data, namespace.Default, "config.yaml") }
