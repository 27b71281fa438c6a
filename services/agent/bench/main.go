// Command bench measures turns of a session, without the time of the model, against its peers and prints a table. Its last line says how
// many rows are at their goals, and it fails when one is not and does not say why. That turns become nodes of a flow afterwards is no part of it.
//
// It works in a folder of the working directory, which it removes: a folder for temporary files may lie in memory, where nothing that is
// measured here costs anything. PostgreSQL and Node with npm are used where they are installed; a row whose peer is not there is left out,
// and said to be.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	met, err := run(ctx)
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
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	var rows []benchtable.Row
	for _, measure := range []func(context.Context, string) ([]benchtable.Row, error){thinking, alone, growing, together} {
		more, err := measure(ctx, dir)
		if err != nil {
			return false, err
		}
		rows = append(rows, more...)
	}
	return benchtable.Print(os.Stdout, rows), nil
}

// without says that a peer is not there.
func without(peer string, err error) {
	fmt.Printf("%s is not measured: %v\n", peer, err)
}
