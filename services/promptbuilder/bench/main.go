// Command bench measures promptbuilder against its peers and prints a table. Its last line says how many rows are at their
// goals, and it fails when one is not. Nothing is asked of a model server: both sides count with one vocabulary.
package main

import (
	"fmt"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

func main() {
	var rows []benchtable.Row
	for _, measure := range []func() (benchtable.Row, error){englishCounts, japaneseCounts, longPiece, fitting, bodySize} {
		row, err := measure()
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		rows = append(rows, row)
	}
	if !benchtable.Print(os.Stdout, rows) {
		os.Exit(1)
	}
}
