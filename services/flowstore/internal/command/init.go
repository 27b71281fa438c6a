package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

func initCommand() *cobra.Command {
	ns := namespace.Default
	c := &cobra.Command{
		Use:   "init DATA",
		Short: "Make the tree of a namespace, ready for git, and say how git shows it",
		Long: `Make the tree of a namespace below the data folder DATA: folders, config.yaml, .gitattributes and .gitignore.

The service makes them, too, when it first writes; a file that is there is left as it is, and what it lacks is told.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return initTree(c.OutOrStdout(), args[0], ns, time.Now()) },
	}
	c.Flags().StringVar(&ns, "namespace", ns, "whose tree")
	return c
}

func initTree(out io.Writer, data, ns string, now time.Time) error {
	if err := store.CheckNamespace(ns); err != nil {
		return fmt.Errorf("--namespace: %w", err)
	}
	dir := filepath.Join(data, ns)
	tree, err := filesys.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // what was written is synced
	if err := checkConfig(tree, dir); err != nil {
		return err
	}
	for _, kind := range []format.Kind{format.Nodes, format.Flows} {
		if err := filesys.EnsureDir(tree, string(kind)); err != nil {
			return err
		}
	}
	for _, f := range format.NewTree(now) {
		if err := initFile(out, tree, dir, f); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%s is ready. To keep it in git, `git init` there; then, once in each clone:\n  %s\n", dir, gitConfig)
	return err
}

// initFile makes a file, or tells which lines one that is there lacks.
func initFile(out io.Writer, tree filesys.FS, dir string, f format.TreeFile) error {
	name := filepath.Join(dir, f.Path)
	old, err := tree.ReadFile(f.Path, format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := filesys.Replace(tree, f.Path, f.Data); err != nil {
			return err
		}
		fmt.Fprintf(out, "made %s\n", name)
		return tree.SyncDir(".")
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case f.Path == format.ConfigName:
		return nil
	}
	if missing := missingLines(string(old), string(f.Data)); len(missing) > 0 {
		fmt.Fprintf(out, "%s was there and stays as it is; it lacks\n  %s\n", name, strings.Join(missing, "\n  "))
	}
	return nil
}

// missingLines gives the lines that a file should have and does not.
func missingLines(have, want string) []string {
	var lines, missing []string
	for line := range strings.Lines(have) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			missing = append(missing, line)
		}
	}
	return missing
}

// checkConfig refuses a tree that a newer program wrote. One without config.yaml is new, or made by hand.
func checkConfig(tree filesys.FS, dir string) error {
	data, err := tree.ReadFile(format.ConfigName, format.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = format.CheckConfig(data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, format.ConfigName), err)
	}
	return nil
}
