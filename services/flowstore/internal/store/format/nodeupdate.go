package format

import (
	"bytes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// UpdateNode gives the file of a node after a change; kept is false where what a person wrote into it would be lost.
func UpdateNode(old []byte, n node.Node) (data []byte, kept bool) {
	before, err := DecodeNode(old)
	if err != nil || !bytes.Equal(EncodeNode(before), old) {
		return nil, false
	}
	return EncodeNode(n), true
}
