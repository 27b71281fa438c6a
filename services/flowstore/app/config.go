package app

import "github.com/tsumugi-dev/tsumugi/services/internal/config"

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
