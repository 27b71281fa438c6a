// Command bench measures flowstore against its peers and prints a table. Its last line says how many rows are at their
// goals, and it fails when one is not.
//
// It works in a folder of the working directory, which it removes: a folder for temporary files may lie in memory, where
// nothing that is measured here costs anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	nodes := flag.Int("n", 0, "print what a search takes in so many nodes, and measure nothing else")
	inStore := flag.Int("stored", 0, "print what a store of so many nodes takes, and measure nothing else")
	flag.Parse()
	measure := run
	if *nodes > 0 {
		measure = func(ctx context.Context) (bool, error) { return true, atScale(ctx, *nodes) }
	}
	if *inStore > 0 {
		measure = func(ctx context.Context) (bool, error) { return true, stored(ctx, *inStore) }
	}
	met, err := measure(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}

func run(ctx context.Context) (met bool, err error) {
	dir, err := os.MkdirTemp(".", "bench-data-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var rows []benchtable.Row
	for _, measure := range []func(context.Context, string) ([]benchtable.Row, error){
		one(creates), creatingAlone, creatingTogether, opening, creatingInLarge, connecting, nodeFiles, flowFiles,
		one(savingMetadata), one(loadingMetadata), one(loadingRows), one(indexing), searching,
	} {
		more, err := measure(ctx, dir)
		if err != nil {
			return false, err
		}
		rows = append(rows, more...)
	}
	return benchtable.Print(os.Stdout, rows), nil
}

// one makes a measurement of one row like those of several.
func one(measure func(context.Context, string) (benchtable.Row, error)) func(context.Context, string) ([]benchtable.Row, error) {
	return func(ctx context.Context, dir string) ([]benchtable.Row, error) {
		row, err := measure(ctx, dir)
		return []benchtable.Row{row}, err
	}
}
