package library

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
)

// Export writes flows with their nodes, or where none is named all flows and then the nodes that no flow holds, oldest first.
// Each write is one line. What cannot be read is named in a line of its own. Flows that change meanwhile are as they were
// when their line was made. *NotFoundError and *UnreadableError for the flows that are named, before anything is written; an
// error of w as it is.
func (l *Library) Export(ctx context.Context, ns string, flows []uuid.UUID, w io.Writer) error {
	var wrong []error
	for _, id := range flows {
		if _, err := l.Flow(ctx, ns, id); err != nil {
			if _, _, one := problemOf(err); !one {
				return err
			}
			wrong = append(wrong, err)
		}
	}
	if err := together(wrong...); err != nil {
		return err
	}
	x := &exporter{l: l, ctx: ctx, ns: ns, w: w, sent: map[uuid.UUID]bool{}}
	x.line(transfer.HeadLine())
	for _, id := range flows {
		x.flow(id)
	}
	if len(flows) == 0 {
		x.all(l.store.Flows, x.flow)
		x.all(l.store.Nodes, x.node)
	}
	x.line(transfer.EndLine(x.end))
	return x.err
}

// exporter is one export. After an error it does nothing more.
type exporter struct {
	l   *Library
	ctx context.Context //nolint:containedctx // it lives as long as the call
	ns  string
	w   io.Writer
	// sent are the nodes that were written: flows share them.
	sent map[uuid.UUID]bool
	end  transfer.End
	err  error
}

func (x *exporter) line(text []byte, err error) {
	if x.err == nil {
		x.err = err
	}
	if x.err == nil {
		_, x.err = x.w.Write(text)
	}
}

// all goes through a list.
func (x *exporter) all(list func(context.Context, string, store.Order, store.Entry, int) ([]store.Entry, error), each func(uuid.UUID)) {
	const page = 1000
	for after := (store.Entry{}); x.err == nil; {
		entries, err := list(x.ctx, x.ns, store.OldestFirst, after, page)
		if x.err = err; err != nil || len(entries) == 0 {
			return
		}
		for _, e := range entries {
			each(e.ID)
		}
		after = entries[len(entries)-1]
	}
}

func (x *exporter) flow(id uuid.UUID) {
	if x.err != nil {
		return
	}
	f, err := x.l.Flow(x.ctx, x.ns, id)
	if err != nil {
		x.problem(flow.Name(id), err)
		return
	}
	for _, m := range f.Members {
		x.node(m.Node)
	}
	x.end.Flows++
	x.line(transfer.FlowLine(f))
}

func (x *exporter) node(id uuid.UUID) {
	if x.err != nil || x.sent[id] {
		return
	}
	x.sent[id] = true
	n, err := x.l.Node(x.ctx, x.ns, id)
	if err != nil {
		x.problem(node.Name(id), err)
		return
	}
	x.end.Nodes++
	x.line(transfer.NodeLine(n))
}

// problem tells of one that cannot be exported. Any other error ends the export.
func (x *exporter) problem(name string, err error) {
	_, _, one := problemOf(err)
	if !one {
		x.err = fmt.Errorf("exporting %s: %w", name, err)
		return
	}
	x.end.Problems++
	x.line(transfer.ProblemLine(name, err.Error()))
}
