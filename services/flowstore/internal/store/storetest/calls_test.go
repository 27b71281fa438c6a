package storetest

import (
	"slices"
	"testing"
)

func TestAMethodThatNoCaseCallsIsNamed(t *testing.T) {
	t.Parallel()
	var c calls
	all := c.missing()
	if len(all) != 39 || !slices.Contains(all, "Tx.ChangeFlow") || !slices.Contains(all, "Store.Flush") {
		t.Errorf("the methods of the port: %q", all)
	}
	for _, method := range all {
		if method != "Tx.PutRequest" {
			c.note(method)
		}
	}
	if got := c.missing(); !slices.Equal(got, []string{"Tx.PutRequest"}) {
		t.Errorf("missing: %q", got)
	}
}
