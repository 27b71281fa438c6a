package format

// IsCanonical says whether the fast reader takes a node file.
func IsCanonical(data []byte) bool {
	_, ok := scanNode(data, false)
	return ok
}
