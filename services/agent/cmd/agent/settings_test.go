package main

import (
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags map[string]string
		want  []string
	}{
		{nil, nil},
		{map[string]string{"generation.heartbeat": "15s", "grpc.stream_idle": "30s"}, nil},
		{map[string]string{"generation.heartbeat": "16s", "grpc.stream_idle": "30s"}, []string{"generation.heartbeat: must be at most half of grpc.stream_idle (30s)"}},
		{map[string]string{"generation.heartbeat": "50s", "grpc.stream_idle": "1m", "listen": "0.0.0.0:1"}, []string{"generation.heartbeat: ", "listen: "}},
		{map[string]string{"backends": "/nope.yaml", "listen": "0.0.0.0:1"}, []string{"backends: the backends file: open /nope.yaml", "listen: "}},
		{map[string]string{"grpc.max_message_bytes": "12MiB"}, []string{"grpc.max_message_bytes: must be from 13MiB"}},
	} {
		s := defaults()
		err := config.Load(&s, config.Source{Flags: c.flags})
		if (err != nil) != (c.want != nil) {
			t.Errorf("%v: %v", c.flags, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", c.flags, err, want)
			}
		}
	}
}
