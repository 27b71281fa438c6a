// Command shop sells.
package main

import (
	"fmt"
	"os"

	_ "github.com/tsumugi-dev/tsumugi/services/shop/app"
)

func main() { fmt.Println("bye"); os.Exit(1) }
