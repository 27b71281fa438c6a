package main

import (
	"net"
	"strings"
	"testing"
)

// A model server at a port that is taken, most often by another model server, says what to do about it.
func TestModelServeAtAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	c := modelCommand()
	c.SetArgs([]string{"serve", "--port", address[strings.LastIndex(address, ":")+1:]})
	err = c.ExecuteContext(t.Context())
	want := address + ": something else listens there; give another port (--port N, 0 for a free one), and its address to `tsumugi serve` in a backends file"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
