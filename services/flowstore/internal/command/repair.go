package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

func repairCommand() *cobra.Command {
	var r repair
	c := &cobra.Command{
		Use:   "repair DATA [--namespace NAME] [--apply] [--current]",
		Short: "Mend of the text files what is derived or certain; without --apply, only say what",
		Long: `Mend what check finds and what is certain: indexes are written from the files, what a killed process left of a file is moved
away, a file in the trash whose name another one has gets a free one, line ends become line feeds. Everything else is left
to a person. Nothing is deleted: before the first file is changed, all of them are copied to .flowstore/repair/ in the folder
of the namespace.

Without --apply nothing is changed. With it, no service may have the data open. The exit codes are those of check, for what
is left.`,
	}
	c.Flags().StringVar(&r.namespace, "namespace", "", "mend this one alone")
	c.Flags().BoolVar(&r.apply, "apply", false, "do it")
	c.Flags().BoolVar(&r.current, "current", false, "set the reader's place, where it is not there, to the newest leaf")
	exitCodes(c, func(c *cobra.Command, data string) (bool, error) {
		r.data, r.now = data, time.Now()
		if r.apply {
			return r.mend(c.Context(), c.OutOrStdout())
		}
		return r.preview(c.Context(), c.OutOrStdout())
	})
	return c
}

// repair is what to mend.
type repair struct {
	data, namespace string
	apply, current  bool
	now             time.Time
}

func (r repair) plan(l looked) []audit.Step {
	return audit.Plan(l.Report, audit.PlanOptions{Current: r.current})
}

// preview says what would be done.
func (r repair) preview(ctx context.Context, out io.Writer) (bool, error) {
	reports, err := lookAt(ctx, r.data, r.namespace, audit.Options{Most: math.MaxInt, Pause: files.Pause})
	if err != nil {
		return false, err
	}
	p := &printer{out: out}
	planned := 0
	for _, l := range reports {
		steps := r.plan(l)
		planned += len(steps)
		p.steps("would be mended", l.namespace, steps)
	}
	left := 0
	for _, l := range reports {
		for _, f := range l.Findings {
			if f.By == store.ByPerson || f.By == store.ByRepairAsked && !r.current {
				left++
			}
		}
	}
	p.stillOpen(reports)
	switch {
	case planned > 0:
		p.line("nothing was changed; --apply does it")
	default:
		p.line("there is nothing to mend")
	}
	if left > 0 {
		p.line("left for a person: %d; `flowstore check %s` tells what", left, r.data)
	}
	return clean(reports), p.err
}

func (p *printer) steps(title, ns string, steps []audit.Step) {
	if len(steps) == 0 {
		return
	}
	p.line("%s: %s: %d", ns, title, len(steps))
	for _, s := range steps[:min(len(steps), shown)] {
		p.line("  %s: %s", s.Path, s.Text)
	}
	if more := len(steps) - shown; more > 0 {
		p.line("  and %d more", more)
	}
}

// mend does what can be done, and tells what is left.
func (r repair) mend(ctx context.Context, out io.Writer) (isClean bool, err error) {
	tree, names, err := openData(r.data, r.namespace)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	hold, err := files.Take(r.data, r.now)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	if err := nothingPending(hold, r.data, names); err != nil {
		return false, err
	}
	reports, err := lookAt(ctx, r.data, r.namespace, audit.Options{Most: math.MaxInt})
	if err != nil {
		return false, err
	}
	p := &printer{out: out}
	stamp := r.now.UTC().Format("20060102T150405.000000Z")
	for _, l := range reports {
		steps := r.plan(l)
		if err := audit.Mend(filesys.Sub(tree, l.namespace), steps, stamp); err != nil {
			return false, fmt.Errorf("namespace %s: %w", l.namespace, err)
		}
		p.steps("mended", l.namespace, steps)
		if len(steps) > 0 {
			p.line("  what was there is in %s", filepath.Join(r.data, l.namespace, filepath.FromSlash(audit.RepairFolder), stamp))
		}
	}
	left, err := lookAt(ctx, r.data, r.namespace, audit.Options{})
	if err != nil {
		return false, err
	}
	return clean(left), errors.Join(p.err, printReports(out, r.data, left))
}

// nothingPending refuses to touch files for which local.db has changes: they were made for the files as they are.
func nothingPending(hold *files.Hold, data string, names []string) error {
	var errs []error
	for _, ns := range names {
		if !namespace.Valid(ns) {
			continue
		}
		n, err := hold.Pending(ns)
		if err == nil && n > 0 {
			err = fmt.Errorf("the namespace %s has %d acknowledged changes that are not in the files yet; start flowstore on %s and stop it, "+
				"which writes them, then repair", ns, n, data)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
