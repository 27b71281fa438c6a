package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Exit codes of check and repair, for scripts.
const (
	exitFound  = 1
	exitFailed = 2
)

// exit is an error with an exit code of its own. Without a cause it was told.
type exit struct {
	code  int
	cause error
}

func (e *exit) Error() string {
	if e.cause == nil {
		return errTold.Error()
	}
	return e.cause.Error()
}

func (e *exit) Unwrap() error {
	if e.cause == nil {
		return errTold
	}
	return e.cause
}

// exitCodes gives the errors of a command the exit codes of check and repair: also those of its flags and arguments.
func exitCodes(c *cobra.Command, run func(c *cobra.Command, data string) (clean bool, err error)) {
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exit{exitFailed, err} })
	c.Args = func(c *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(1)(c, args); err != nil {
			return &exit{exitFailed, fmt.Errorf("%w: usage: flowstore %s", err, c.Use)}
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch clean, err := run(c, args[0]); {
		case err != nil:
			return &exit{exitFailed, err}
		case !clean:
			return &exit{code: exitFound}
		}
		return nil
	}
}

func checkCommand() *cobra.Command {
	var ns string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DATA [--namespace NAME] [--json]",
		Short: "Look through the text files for what needs a hand",
		Long: `Look through the text files below the data folder DATA, in all namespaces or one, and say what flowstore passes over,
leaves out or cannot read, why, and what to do. It reads only and takes no lock: the service may be running, the volume
may be read-only. The exit code is 0 where nothing was found, 1 where something was, 2 where it could not look.`,
	}
	c.Flags().StringVar(&ns, "namespace", "", "look at this one alone")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object, with every finding")
	exitCodes(c, func(c *cobra.Command, data string) (bool, error) {
		most := audit.DefaultMost
		if asJSON {
			most = mostInJSON
		}
		reports, err := lookAt(c.Context(), data, ns, audit.Options{Most: most, Pause: files.Pause})
		if err != nil {
			return false, err
		}
		if asJSON {
			err = printJSON(c.OutOrStdout(), reports)
		} else {
			err = printReports(c.OutOrStdout(), data, reports)
		}
		return clean(reports), err
	})
	return c
}

// mostInJSON is how many findings of a kind are told to a program; a person is told of fewer.
const mostInJSON = 100_000

// looked is the report of a namespace.
type looked struct {
	namespace string
	// open says that a service has its local.db open, or was killed: what waits there for its text file was not looked at.
	open bool
	audit.Report
}

func clean(reports []looked) bool {
	for _, r := range reports {
		if !r.Clean() {
			return false
		}
	}
	return true
}

// lookAt looks at a namespace, or at all where it is empty.
func lookAt(ctx context.Context, data, ns string, o audit.Options) ([]looked, error) {
	tree, names, err := openData(data, ns)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Close() }()
	var reports []looked
	for _, name := range names {
		r := looked{namespace: name, open: isOpen(filepath.Join(data, name))}
		if namespace.Valid(name) {
			r.Report, err = audit.Look(ctx, filesys.Sub(tree, name), o)
		} else {
			r.Findings = []store.Finding{{
				Path: ".", Kind: store.DamageFolder, By: store.ByPerson,
				Reason: (&store.NamespaceError{Name: name}).Error() + ", so nobody reads it", Fix: "give the folder such a name, or move it away",
			}}
		}
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// openData opens a data folder that is there, and gives the folders of namespaces in it: those that hold nodes, flows or
// config.yaml, also under a name that no namespace can have.
func openData(data, ns string) (tree *filesys.Dir, names []string, err error) {
	if ns != "" {
		if err := store.CheckNamespace(ns); err != nil {
			return nil, nil, fmt.Errorf("--namespace: %w", err)
		}
		if _, err := os.Stat(filepath.Join(data, ns)); err != nil {
			return nil, nil, fmt.Errorf("the namespace %s: %w", ns, err)
		}
	}
	if _, err := os.Stat(filepath.Join(data, localFolder, "lock")); err != nil && isTree(data) { // A namespace may be called nodes.
		return nil, nil, fmt.Errorf("%s is the folder of a namespace; name the folder above, with --namespace %s", data, filepath.Base(data))
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, nil, fmt.Errorf("the data folder: %w", err)
	}
	ours := ns != ""
	for _, e := range entries {
		ours = ours || e.Name() == localFolder
		folder := filepath.Join(data, e.Name())
		_, err := os.Lstat(filepath.Join(folder, "config.yaml")) // a namespace that is not opened because of it has nothing else yet
		if ns == "" && (isTree(folder) || err == nil || isOpen(folder)) || e.Name() == ns {
			names = append(names, e.Name())
		}
	}
	if !ours && len(names) == 0 {
		return nil, nil, fmt.Errorf("%s is no data folder of flowstore: no folder in it has nodes or flows", data)
	}
	tree, err = filesys.Open(data)
	return tree, names, err
}

const localFolder = ".flowstore"

// isOpen says that the local.db of a namespace was not closed: then its write-ahead log is there, and not empty.
func isOpen(folder string) bool {
	info, err := os.Stat(filepath.Join(folder, localFolder, "local.db-wal"))
	return err == nil && info.Size() > 0
}

func isTree(folder string) bool {
	for _, kind := range []string{"nodes", "flows"} {
		if info, err := os.Stat(filepath.Join(folder, kind)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

func printJSON(out io.Writer, reports []looked) error {
	type entry struct {
		Namespace string               `json:"namespace"`
		Nodes     int                  `json:"nodes"`
		Flows     int                  `json:"flows"`
		Open      bool                 `json:"open"`
		Findings  []store.Finding      `json:"findings"`
		More      map[store.Damage]int `json:"more,omitempty"`
	}
	list := []entry{}
	for _, r := range reports {
		list = append(list, entry{r.namespace, r.Nodes, r.Flows, r.open, append([]store.Finding{}, r.Findings...), r.More})
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"namespaces": list})
}

// shown is how many findings of a kind a person is shown.
const shown = 20

func printReports(out io.Writer, data string, reports []looked) error {
	p := &printer{out: out}
	total, repairable := 0, 0
	for _, r := range reports {
		p.report(r)
		for _, f := range r.Findings {
			total++
			if f.By != store.ByPerson {
				repairable++
			}
		}
		for _, n := range r.More {
			total += n
		}
	}
	p.stillOpen(reports)
	switch {
	case total == 0:
		p.line("nothing was found")
	case repairable == 0:
		p.line("findings: %d; all need a person", total)
	default:
		p.line("findings: %d; `flowstore repair %s` shows what it can do", total, data)
	}
	return p.err
}

// printer keeps the first error of its output.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	p.err = errors.Join(p.err, err)
}

// report prints the findings of a namespace by kind, with what to do below those for which it is the same.
func (p *printer) report(r looked) {
	p.line("%s: nodes: %d, flows: %d", r.namespace, r.Nodes, r.Flows)
	for _, kind := range store.Damages {
		var fixes []string
		byFix := map[string][]store.Finding{}
		n := r.More[kind]
		for _, f := range r.Findings {
			if f.Kind != kind {
				continue
			}
			if byFix[f.Fix] == nil {
				fixes = append(fixes, f.Fix)
			}
			byFix[f.Fix] = append(byFix[f.Fix], f)
			n++
		}
		if n > 0 {
			p.line("  %s: %d", audit.Title(kind), n)
		}
		for _, fix := range fixes {
			p.findings(byFix[fix])
			p.line("    -> %s", fix)
		}
		if n := r.More[kind]; n > 0 {
			p.line("    and %d more; --json tells them", n)
		}
	}
}

// stillOpen says of what nothing is told.
func (p *printer) stillOpen(reports []looked) {
	for _, r := range reports {
		if r.open {
			p.line("%s: flowstore is running, or was killed: changes that are not in text files yet were not looked at (start and stop it, and they are)", r.namespace)
		}
	}
}

func (p *printer) findings(list []store.Finding) {
	for _, f := range list[:min(len(list), shown)] {
		place := f.Path
		if f.Line > 0 {
			place += fmt.Sprintf(", line %d", f.Line)
		}
		p.line("    %s: %s", place, f.Reason)
	}
	if more := len(list) - shown; more > 0 {
		p.line("    and %d more; --json tells them", more)
	}
}
