package router

import (
	"context"
	"errors"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Read is a read that was carried out.
type Read struct {
	Result tool.Result
	// Failed: it gave no answer. It is a result, and no error of the turn (C65).
	Failed bool
}

// builtInReads are the tools that read in folders.
var builtInReads = map[string]func(r Router, ctx context.Context, j Judged) ([]byte, error){
	tool.Read: Router.readFile, tool.List: Router.readList, tool.Stat: Router.readStat, tool.Search: Router.readSearch,
}

// ReadAll carries out what only looks and is allowed unasked: one result for each, in their order; what was stopped, waits or changes
// something is told so and not touched. At most parallel run at once, from 1 to MaxParallel. A read that panics, or takes longer than its
// tool may, is one failed read.
func (r Router) ReadAll(ctx context.Context, parallel int, all ...Judged) []Read {
	out := make([]Read, len(all))
	free := make(chan struct{}, min(max(parallel, 1), MaxParallel))
	var wait sync.WaitGroup
	for i, j := range all {
		if !j.read || j.Verdict() != policy.Allow {
			out[i] = Read{Result: j.Result(), Failed: true}
			continue
		}
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			out[i] = r.look(ctx, j)
		})
	}
	wait.Wait()
	return out
}

// look carries out one read.
func (r Router) look(ctx context.Context, j Judged) Read {
	text, _, err := within(ctx, j.Tool.Timeout, r.grace(), func(ctx context.Context) ([]byte, error) { return r.reader(j)(ctx, j.Args) })
	limit := j.Tool.Limit
	var denied *deniedError
	switch {
	case err == nil:
		return Read{Result: tool.Output(tool.Executed, text, limit)}
	case errors.As(err, &denied):
		return Read{Result: tool.Outcome(tool.Refused, denied.why), Failed: true}
	case errors.Is(err, errBroke):
		err = errBroke // What it said when it broke is for nobody.
	}
	return Read{Result: tool.Output(tool.Failed, []byte(err.Error()), limit), Failed: true}
}

func (r Router) reader(j Judged) ReadFunc {
	if f := builtInReads[j.Tool.Name]; f != nil {
		return func(ctx context.Context, _ []byte) ([]byte, error) { return f(r, ctx, j) }
	}
	return r.Reads[j.Tool.Name]
}

// deniedError is a read that a rule denies by where it was found to lead.
type deniedError struct{ why string }

func (e *deniedError) Error() string { return e.why }

// found says of a path at which something was found whether the rules allow to tell of it: it is judged again where it is none of those
// that were judged.
func (r Router) found(j Judged, name string) error {
	for _, p := range j.Paths {
		if p == name {
			return nil
		}
	}
	asked := j.asked
	asked.Paths = []string{name}
	x := explain(r.Engine, asked, j.session.Standing, j.session.Now)
	if x.Verdict == policy.Allow || x.Verdict == policy.Ask && j.approved {
		return nil
	}
	return &deniedError{why(x)}
}

// where gives the folder of a judged read, and the path in it.
func (Router) where(j Judged) (folder.Root, string, error) {
	if j.root == nil || len(j.Paths) == 0 {
		return nil, "", folder.Refuse(folder.Missing, j.Root, "the folder is not there")
	}
	return j.root, j.Paths[0], nil
}
