package lifecycle

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]*debug.BuildInfo{
		"agent (devel), revision unknown, unknown Go": {},
		"agent v1.2.0, revision 0123456789ab of 2026-11-28T08:37:50Z with changes, go1.26.0": {
			GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.0"},
			Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-28T08:37:50Z"}, {Key: "vcs.modified", Value: "true"},
			},
		},
	} {
		if got := version("agent", info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A program that is asked for its version says it in one line and starts nothing.
func TestMainVersion(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if code := Main(program(&fake{}), []string{"--version"}, nil, &out, os.Stderr); code != 0 || out.String() != Version("flowstore")+"\n" {
		t.Errorf("code %d: %q", code, out.String())
	}
}
