package filesys_test

import (
	"fmt"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// Two files become durable with one fsync of their folder.
func ExampleReplace() {
	dir, err := os.MkdirTemp("", "filesys")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tree, err := filesys.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tree.Close() }()
	for _, name := range []string{"000.xml", "001.xml"} {
		if err := filesys.Replace(tree, name, []byte("<node/>\n")); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(tree.SyncDir("."))
	// Output: <nil>
}
