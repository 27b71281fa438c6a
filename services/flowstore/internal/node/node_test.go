package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// The digest of a remembered request is made from this JSON: a request that is repeated after an update must be the same.
func TestAbsentFieldsAreNotInTheJSON(t *testing.T) {
	t.Parallel()
	const want = `{"ID":"00000000-0000-0000-0000-000000000000","Created":"0001-01-01T00:00:00Z","Texts":null,"Model":"m","Tags":null,` +
		`"Summary":{"Text":"","Stale":false,"Built":"0001-01-01T00:00:00Z"},"Generation":null}`
	text, err := json.Marshal(node.Node{Model: "m"})
	if err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("%v %s", err, text)
	}
}
