// Package obs is how a process is observed: logs, metrics, and the admin port with /livez, /readyz and /metrics.
package obs

import (
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// LogConfig is what is logged and how.
type LogConfig struct {
	// Level is the least that is logged: debug, info, warn or error.
	Level string `yaml:"level" help:"debug, info, warn or error"`
	// Format is json, console, or auto: console on a terminal, else json.
	Format string `yaml:"format" help:"json, console, or auto (console on a terminal)"`
}

// DefaultLogConfig logs from info on.
func DefaultLogConfig() LogConfig { return LogConfig{Level: "info", Format: "auto"} }

// Check finds words that are not known.
func (c LogConfig) Check(p *config.Problems) {
	switch c.Level {
	case "debug", "info", "warn", "error":
	default:
		p.Add("level", "must be debug, info, warn or error, is %q", c.Level)
	}
	switch c.Format {
	case "auto", "json", "console":
	default:
		p.Add("format", "must be auto, json or console, is %q", c.Format)
	}
}

// NewLogger writes to a file, in most programs os.Stderr. A level that Check refuses is taken as info.
func NewLogger(c LogConfig, to *os.File) *zap.Logger {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		level = zap.InfoLevel
	}
	return zap.New(zapcore.NewCore(encoder(c.Format, to), zapcore.Lock(to), level))
}

func encoder(format string, to *os.File) zapcore.Encoder {
	e := zap.NewProductionEncoderConfig()
	e.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	e.EncodeDuration = zapcore.StringDurationEncoder
	if format == "console" || format == "auto" && Terminal(to) {
		e.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		e.EncodeLevel = zapcore.CapitalLevelEncoder
		return zapcore.NewConsoleEncoder(e)
	}
	return zapcore.NewJSONEncoder(e)
}

// Terminal says that a person sits there.
func Terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
