package archtest

import (
	"path"
	"strings"
)

// match says whether a path fits a pattern: each segment is a shell pattern, and a last `...` fits any rest and none.
func match(pattern, name string) bool {
	p, n := strings.Split(pattern, "/"), strings.Split(name, "/")
	for i, segment := range p {
		if segment == "..." {
			return true
		}
		if i >= len(n) {
			return false
		}
		if ok, err := path.Match(segment, n[i]); err != nil || !ok {
			return false
		}
	}
	return len(p) == len(n)
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return false
}

// bind puts the importing package's own service for SERVICE and its own adapter for ADAPTER, so that a pattern can say
// "my own".
func bind(patterns []string, from string) []string {
	s := append(strings.Split(from, "/"), "", "", "", "", "")
	r := strings.NewReplacer("SERVICE", s[1], "ADAPTER", s[4])
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = r.Replace(p)
	}
	return out
}

// standard says whether an import is of the standard library: its first segment has no dot, and it is not ours.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".") && first != "services" && first != "gen"
}
