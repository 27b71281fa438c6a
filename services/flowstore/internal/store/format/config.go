package format

import (
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// version is the format of the tree. A program that knows only 1.x reads no 2.0.
const version = "1.0"

// Contents of the files that git reads in a namespace's folder. Indexes of two branches are merged line by line, and no
// checkout changes line ends; what is in .flowstore belongs to this machine alone.
const (
	GitAttributes = `nodes/index.tsv merge=union
flows/index.tsv merge=union
tombstones.tsv merge=union
*.xml text eol=lf
*.yaml text eol=lf
*.tsv text eol=lf
`
	GitIgnore = `.flowstore/
*.tmp
`
)

// EncodeConfig gives the config.yaml of a new namespace (seed 004, 6.3).
func EncodeConfig(created time.Time) []byte {
	return []byte("version: \"" + version + "\"\ncreated: " + formatTime(created) + "\n")
}

// CheckConfig says whether a namespace's config.yaml is of a format that this program reads. Other keys are left to
// whoever wrote them. The error is an *Error.
func CheckConfig(data []byte) error {
	text, err := body(data)
	if err != nil {
		return err
	}
	root, err := yamlx.Parse(text)
	if err != nil {
		return unreadable("%s", err)
	}
	got := yamlx.Get(root, "version")
	switch {
	case got == nil:
		return unreadable("has no version; this program reads version: %q", version)
	case got.Value != "1" && !strings.HasPrefix(got.Value, "1."):
		return unreadable("is of version %q; this program reads version %q: use a newer program", cut(got.Value), version)
	}
	return nil
}
