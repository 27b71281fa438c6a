// Command flowstore is FlowStoreService alone, over gRPC, and the tools for a tree that is kept in git. `tsumugi serve`
// runs the service together with the others.
package main

import (
	"os"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
