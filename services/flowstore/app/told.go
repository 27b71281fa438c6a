package app

import (
	"io"
	"os"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// tellConfig tells the log which keys of config.yaml are those of others, where flowstore runs alone. The namespace is open, so
// the file is not there or can be gone by.
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
	if alone && len(c.Foreign) > 0 {
		log.Info("config.yaml has keys that are not flowstore's own: tsumugi serve takes those of model servers",
			zap.String("file", cfg.ConfigFile()), zap.Strings("keys", c.Foreign))
	}
}
