// Command bench measures promptbuilder against its peers and prints a table. Its last line says how many rows are at their
// goals, and it fails when one is not. The first rows ask nothing of a model server: both sides count with one vocabulary.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

func main() {
	model := flag.Bool("session", false, "measure on a real model server instead: one prompt of a whole text, then a session; a quarter of an hour on two cores")
	novel := flag.Bool("novel", false, "only the prompt of a whole text on a real model server: about a minute")
	text := flag.String("text", "", "with -session or -novel: the file of the text, instead of one that is made up")
	systems := flag.Bool("systems", false, "only the rows about system prompts, on a real model server")
	turns := flag.Int("turns", small.Turns, "turns of a session of those rows that the server reads; 20, with -sessions 5, are hours")
	count := flag.Int("sessions", small.Sessions, "sessions of those rows that the server reads")
	flag.Parse()
	size := small
	size.Turns, size.Sessions = *turns, *count
	var rows []benchtable.Row
	var err error
	switch {
	case *model || *novel:
		rows, err = withModel(context.Background(), *text, *novel)
	case *systems:
		rows, err = withSlot(context.Background(), size)
	default:
		if rows, err = withoutModel(); err == nil {
			var more []benchtable.Row
			more, err = withSlot(context.Background(), size)
			rows = append(rows, more...)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !benchtable.Print(os.Stdout, rows) {
		os.Exit(1)
	}
}

// withoutModel are the rows that ask nothing of a model server.
func withoutModel() (rows []benchtable.Row, err error) {
	for _, measure := range []func() (benchtable.Row, error){englishCounts, japaneseCounts, longPiece, fitting, bodySize, remoteCounts} {
		row, err := measure()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
