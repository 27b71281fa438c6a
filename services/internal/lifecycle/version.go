package lifecycle

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
)

// Version says in one line what a program was built from: the version of its module, the revision in version control, and
// the Go that built it.
func Version(name string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return version(name, info)
}

func version(name string, info *debug.BuildInfo) string {
	line := fmt.Sprintf("%s %s, ", name, cmp.Or(info.Main.Version, "(devel)"))
	if revision := stamp(info, "vcs.revision"); revision != "" {
		line += fmt.Sprintf("revision %.12s of %s", revision, stamp(info, "vcs.time"))
	} else {
		line += "revision unknown" // built outside a clone, or with -buildvcs=false
	}
	if stamp(info, "vcs.modified") == "true" {
		line += " with changes"
	}
	return line + ", " + cmp.Or(info.GoVersion, "unknown Go")
}

func stamp(info *debug.BuildInfo, key string) string {
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}
