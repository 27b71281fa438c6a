// Command bench measures promptbuilder against its peers and prints a table. Its last line says how many rows are at their
// goals, and it fails when one is not. But for -session nothing is asked of a model server: both sides count with one vocabulary.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

func main() {
	withModel := flag.Bool("session", false, "play a session on a real model server instead: a quarter of an hour on two cores")
	text := flag.String("text", "", "with -session: the file of the text, instead of one that is made up")
	flag.Parse()
	all := []func() (benchtable.Row, error){englishCounts, japaneseCounts, longPiece, fitting, bodySize, remoteCounts}
	if *withModel {
		all = []func() (benchtable.Row, error){func() (benchtable.Row, error) { return session(context.Background(), *text) }}
	}
	var rows []benchtable.Row
	for _, measure := range all {
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
