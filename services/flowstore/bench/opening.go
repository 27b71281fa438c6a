package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

// openedNodes is how many nodes the store has that is opened.
const openedNodes = 10_000

// opening measures how long it takes until a store answers, against what it would take to read its node files: with what
// local.db knows of the files, and without local.db.
func opening(ctx context.Context, dir string) ([]benchtable.Row, error) {
	data := filepath.Join(dir, "opening")
	known := benchtable.Row{
		Ours: "opening 10,000 nodes", Peer: "parsing them all with encoding/xml", Unit: "ms", Goal: benchtable.AtMost(0.35),
	}
	anew := benchtable.Row{
		Ours: "opening 10,000 nodes without local.db", Peer: known.Peer, Unit: known.Unit, Goal: benchtable.AtMost(0.6),
	}
	if err := fill(ctx, data); err != nil {
		return nil, err
	}
	parse := func() (float64, error) { return parseAll(filepath.Join(data, "default", "nodes")) }
	errKnown := known.Measure(func() (float64, error) { return openStore(ctx, data) }, parse)
	errAnew := anew.Measure(
		func() (float64, error) {
			if err := os.RemoveAll(filepath.Join(data, "default", ".flowstore")); err != nil {
				return 0, err
			}
			return openStore(ctx, data)
		}, parse)
	return []benchtable.Row{known, anew}, errors.Join(errKnown, errAnew)
}

// fill makes the store that is opened.
func fill(ctx context.Context, data string) (err error) {
	s, err := startFlowstore(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for range openedNodes {
		group.Go(func() error {
			_, err := s.client.CreateNode(ctx, &flowstorev1.CreateNodeRequest{Node: sample()})
			return err
		})
	}
	return group.Wait()
}

// openStore gives the milliseconds until the store could answer. Closing it is not counted.
func openStore(ctx context.Context, data string) (float64, error) {
	start := time.Now()
	a, err := app.New(ctx, app.Config{Data: data}, app.Deps{})
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	return float64(took.Microseconds()) / 1000, a.Close(ctx)
}

// parseAll is parseFiles for the nodes that fill made.
func parseAll(dir string) (float64, error) {
	took, parsed, err := parseFiles(dir)
	if err == nil && parsed != openedNodes {
		err = fmt.Errorf("%d node files, not %d", parsed, openedNodes)
	}
	return took, err
}

// parseFiles gives the milliseconds that reading and parsing all node files takes, and how many they are.
func parseFiles(dir string) (took float64, parsed int, err error) {
	start := time.Now()
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".xml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var n struct {
			ID    string   `xml:"id,attr"`
			Texts []string `xml:"contents>text"`
		}
		if err := xml.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if n.ID == "" || len(n.Texts) == 0 {
			return fmt.Errorf("%s holds %+v", path, n)
		}
		parsed++
		return nil
	})
	return float64(time.Since(start).Microseconds()) / 1000, parsed, err
}
