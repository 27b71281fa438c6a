package app

import (
	"path/filepath"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Config are the settings of flowstore.
type Config struct {
	// Data is the folder of all namespaces, `<data>/<namespace>/`. It is made where it is not there.
	Data string `yaml:"data" help:"folder of nodes and flows"`
	// Watch has the operating system tell when a hand changes a file. It has nothing to tell of network disks.
	Watch bool `yaml:"watch" help:"whether changes by hand are seen at once"`
	// Rescan is how often all folders are looked through for what hands changed; 0 is never. 100,000 files take some 0.4 s.
	Rescan time.Duration `yaml:"rescan" help:"how often the folder is looked through for changes by hand; 0 is never"`
}

// DefaultConfig keeps the data below the working folder, and sees what hands change there.
func DefaultConfig() Config {
	return Config{Data: "./tsumugi-data/flowstore", Watch: true, Rescan: time.Minute}
}

// Check finds settings that cannot be.
func (c Config) Check(p *config.Problems) {
	if c.Data == "" {
		p.Add("data", "must name a folder")
	}
	if c.Rescan != 0 && c.Rescan < time.Second {
		p.Add("rescan", "must be 0, for never, or at least 1s, is %s", c.Rescan)
	}
}

// ConfigFile is where the config.yaml of the namespace of requests without authentication lies, or will lie. Its keys of
// model servers are for `tsumugi serve` (docs/backends.md); flowstore never writes the file again.
func (c Config) ConfigFile() string { return filepath.Join(c.Data, namespace.Default, "config.yaml") }
