package app

import (
	"io"
	"os"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// tellConfig tells the log what config.yaml holds that has no effect: keys that nobody knows and, where flowstore runs
// alone, those of others. The namespace is open, so the file is not there or can be gone by.
func tellConfig(log *zap.Logger, cfg Config, alone bool) {
	file, err := os.Open(cfg.ConfigFile())
	if err != nil {
		return
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, format.MaxFile))
	if err != nil {
		return
	}
	c, err := format.DecodeConfig(data)
	if err != nil {
		return
	}
	if len(c.Warnings) > 0 {
		log.Warn("config.yaml has keys without an effect", zap.String("file", cfg.ConfigFile()), zap.Strings("keys", c.Warnings))
	}
	if alone && len(c.Foreign) > 0 {
		log.Info("config.yaml has keys that are not flowstore's own: tsumugi serve takes those of model servers",
			zap.String("file", cfg.ConfigFile()), zap.Strings("keys", c.Foreign))
	}
}
