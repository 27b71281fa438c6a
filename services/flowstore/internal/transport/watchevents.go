package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

const (
	// heartbeat is how long a stream is silent before it tells that it lives: half of the shortest grpc.stream_idle.
	heartbeat = 15 * time.Second
	// maxWatchedFlows and maxWatchedNodes bound a filter.
	maxWatchedFlows = 100
	maxWatchedNodes = 1000
)

// Events that are no change of the store.
const (
	eventHello     = "hello"
	eventResync    = "resync_required"
	eventHeartbeat = "heartbeat"
)

// WatchEvents tells every change of the namespace. Send waits for a reader that is slow, and meanwhile nothing is read from
// the store for it.
func (s *Server) WatchEvents(req *flowstorev1.WatchEventsRequest, out grpc.ServerStreamingServer[flowstorev1.Event]) error {
	f := begin(req)
	filter := f.eventFilter(req)
	if err := f.Err(); err != nil {
		return err
	}
	ctx, stop := whileServing(out.Context())
	defer stop(nil)
	w, err := s.library.Watch(ctx, namespace.From(ctx), req.SinceSeq, filter)
	if err != nil {
		return f.fault(err)
	}
	message := &flowstorev1.Event{Event: eventHello, Seq: w.Seq(), LastSeq: proto.Int64(w.Last())}
	for err == nil {
		if err := out.Send(message); err != nil {
			return err
		}
		message, err = nextEvent(ctx, w)
	}
	if errors.Is(context.Cause(ctx), store.ErrClosed) {
		err = store.ErrClosed
	}
	return f.fault(err)
}

// whileServing gives a context that ends, with store.ErrClosed, when the server begins to stop.
func whileServing(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	own, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-interceptor.Draining(ctx):
			cancel(store.ErrClosed)
		case <-own.Done():
		}
	}()
	return own, cancel
}

// nextEvent gives what is to be sent next, at the latest after a heartbeat.
func nextEvent(ctx context.Context, w *library.Watch) (*flowstorev1.Event, error) {
	soon, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	e, err := w.Next(soon)
	switch {
	case err == nil:
		return fromEvent(e), nil
	case errors.Is(err, store.ErrPruned):
		return &flowstorev1.Event{Event: eventResync, Seq: w.Seq(), LastSeq: proto.Int64(w.Last())}, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return &flowstorev1.Event{Event: eventHeartbeat, Seq: w.Seq()}, nil
	}
	return nil, err
}

func fromEvent(e store.Event) *flowstorev1.Event {
	out := &flowstorev1.Event{Event: string(e.Kind), Seq: e.Seq, Time: fromTime(e.At), Path: e.Path, Origin: e.Origin}
	switch e.Of.Kind {
	case store.KindNode:
		out.Node = node.Name(e.Of.ID)
	case store.KindFlow:
		out.Flow = flow.Name(e.Of.ID)
	}
	return out
}

// eventFilter reads which events are wanted.
func (f *fields) eventFilter(req *flowstorev1.WatchEventsRequest) (filter library.EventFilter) {
	if since := req.GetSinceSeq(); since < 0 {
		f.Add("since_seq", "is %d; it must be the seq of an event, from 0 on", since)
	}
	filter.Kinds = f.eventKinds(req.GetEvents())
	filter.Flows = f.watched("flows", req.GetFlows(), maxWatchedFlows, aFlow)
	filter.Nodes = f.watched("nodes", req.GetNodes(), maxWatchedNodes, neighbour)
	return filter
}

// eventKinds reads names of events.
func (f *fields) eventKinds(names []string) (kinds []store.EventKind) {
	if len(names) > len(store.EventKinds) {
		f.Add("events", "has %d items; there are %d names of events", len(names), len(store.EventKinds))
		return nil
	}
	for i, name := range names {
		kind := store.EventKind(name)
		if !slices.Contains(store.EventKinds, kind) {
			f.Add(fmt.Sprintf("events[%d]", i), "is %.40q; it must be one of %s", name, eventNames())
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// eventNames lists the names of events.
func eventNames() string {
	var names []string
	for _, kind := range store.EventKinds {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// watched reads a list of flows or nodes. One that stands there twice is watched once.
func (f *fields) watched(field string, names []string, limit int, r role) (ids []uuid.UUID) {
	if len(names) > limit {
		f.Add(field, "has %d items; the limit is %d", len(names), limit)
		return nil
	}
	for i, name := range names {
		item := fmt.Sprintf("%s[%d]", field, i)
		if name == "" {
			f.Add(item, "is empty")
		}
		ids = append(ids, f.name(item, name, r))
	}
	return ids
}
