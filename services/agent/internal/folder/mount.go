package folder

import "strings"

// Mounts are the roots that a session may name: the work folder and those that may only be read.
type Mounts struct {
	// Work has no mount: relative paths are in it.
	Work Root
	// Others are named by their mount.
	Others []Root
}

// Find gives the root that a path names, and the path in it: what begins with the mount of a root, with a `/` boundary, is in that
// one, the longest first (the prompt names skills so); what does not begin with `/` is in the work folder. Neither is cleaned yet.
// The error is a *Refusal.
func (m Mounts) Find(raw string) (Root, string, error) {
	if !strings.HasPrefix(raw, "/") {
		if m.Work == nil {
			return nil, "", refuse(BadPath, raw, "this session has no work folder")
		}
		return m.Work, raw, nil
	}
	var found Root
	rest, longest := "", 0
	for _, r := range m.Others {
		mount := strings.TrimRight(r.About().Mount, "/")
		inside, ok := strings.CutPrefix(raw, mount)
		if mount == "" || !ok || inside != "" && inside[0] != '/' || len(mount) <= longest {
			continue
		}
		found, longest = r, len(mount)
		if rest = strings.TrimLeft(inside, "/"); rest == "" {
			rest = "."
		}
	}
	if found == nil {
		return nil, "", refuse(BadPath, raw, "it begins with / and is below no folder that this session may read; write it relative to the work folder")
	}
	return found, rest, nil
}
