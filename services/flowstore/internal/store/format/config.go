package format

import "time"

// version is the format of the tree. A program that knows only 1.x reads no 2.0.
const version = "1.0"

// ConfigName is the file that says of which format a namespace's tree is.
const ConfigName = "config.yaml"

// Contents of the files that git reads in a namespace's folder. Indexes of two branches are merged line by line; nodes and
// flows never are: git takes a new node for one that was removed when they look alike, and lines of one text would come into
// another. No checkout changes line ends, and nodes are shown by `flowstore textconv` where git knows it. Flows read well as
// they are, and a diff of their own lines shows comments, too. What is in .flowstore belongs to this machine alone, and
// metadata is made from the rest: two branches never agree on it.
const (
	GitAttributes = `nodes/index.tsv merge=union
flows/index.tsv merge=union
tombstones.tsv merge=union
*.xml text eol=lf
*.yaml text eol=lf
*.tsv text eol=lf
nodes/**/*.xml diff=tsumugi
trash/**/*.xml diff=tsumugi
nodes/**/*.xml -merge
flows/**/*.yaml -merge
trash/** -merge
`
	GitIgnore = `.flowstore/
metadata/
*.tmp
`
)

// TreeFile is a file of a new namespace; Path is seen from its folder.
type TreeFile struct {
	Path string
	Data []byte
}

// NewTree gives the files of a new namespace beside its folders nodes and flows, in the order in which they are made.
// config.yaml comes last: where it stands, the rest was made, and what a person took away since stays away.
func NewTree(created time.Time) []TreeFile {
	return []TreeFile{
		{".gitattributes", []byte(GitAttributes)},
		{".gitignore", []byte(GitIgnore)},
		{ConfigName, EncodeConfig(created)},
	}
}

// EncodeConfig gives the config.yaml of a new namespace (seed 004, 6.3).
func EncodeConfig(created time.Time) []byte {
	return []byte("version: \"" + version + "\"\ncreated: " + formatTime(created) + "\n")
}
