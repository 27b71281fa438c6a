package format

import "time"

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
