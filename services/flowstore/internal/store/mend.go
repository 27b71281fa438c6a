package store

// Mending of what Look finds.

// MendOptions say how much Mend does.
type MendOptions struct {
	// Apply does it; without it Mend only says what it would do.
	Apply bool
	// Current has a reader's place that is not there become the one that is taken for it: a guess, and not done unasked.
	Current bool
}

// MendStep is what is done to one file.
type MendStep struct {
	Path string
	// Text says what, to be read behind the path.
	Text string
	// Left says why it was not done, and is empty where it was, or would be.
	Left string
}

// Mended is what Mend did, or would do.
type Mended struct {
	Steps []MendStep
	// Folder holds the files as they were, seen from the folder of the namespace; empty where nothing was changed.
	Folder string
}
