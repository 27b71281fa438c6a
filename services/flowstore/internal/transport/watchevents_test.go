package transport_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// watching is a stream of events that is being read.
type watching struct {
	*testing.T
	stream grpc.ServerStreamingClient[flowstorev1.Event]
	// hello is how it began.
	hello *flowstorev1.Event
}

// watch opens a stream of events and reads its hello. since is the event to begin after, nil: from now on.
func watch(ctx context.Context, t *testing.T, c flowstorev1.FlowStoreServiceClient, since *int64) watching {
	t.Helper()
	stream, err := c.WatchEvents(ctx, &flowstorev1.WatchEventsRequest{SinceSeq: since})
	if err != nil {
		t.Fatal(err)
	}
	w := watching{T: t, stream: stream}
	w.hello = w.next()
	if w.hello.GetEvent() != "hello" || w.hello.LastSeq == nil || w.hello.GetTime() != nil {
		t.Fatalf("a stream begins with %v", w.hello)
	}
	return w
}

func (w watching) next() *flowstorev1.Event {
	w.Helper()
	e, err := w.stream.Recv()
	if err != nil {
		w.Fatal(err)
	}
	return e
}

// several reads so many events and says of each its name and what it is about.
func (w watching) several(n int) (list []string) {
	w.Helper()
	for range n {
		e := w.next()
		list = append(list, strings.TrimSpace(e.GetEvent()+" "+e.GetNode()+e.GetFlow()))
	}
	return list
}

func TestWatchEvents(t *testing.T) {
	t.Parallel()
	s := memory.New(func() time.Time { return now })
	c := client(t, library.New(s, &counting{}))
	w := watch(t.Context(), t, c, nil)
	if w.hello.GetSeq() != w.hello.GetLastSeq() {
		t.Errorf("from now on: %v", w.hello)
	}
	f := must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "夜"}})).GetName()
	same(t, &flowstorev1.Event{Seq: w.hello.GetSeq() + 1, Event: "flow_created", Time: timestamppb.New(now.Add(time.Microsecond)), Flow: f}, w.next())
	n := must[*flowstorev1.AddNodeResponse](t)(c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{Flow: f, Source: fresh()})).GetNode().GetName()
	if diff := cmp.Diff([]string{"node_created " + n, "flow_updated " + f}, w.several(2)); diff != "" {
		t.Error(diff)
	}
	thing := store.Thing{Kind: store.KindNode, ID: uuid.MustParse(strings.TrimPrefix(n, "nodes/"))}
	for _, change := range []func(tx store.Tx) error{
		func(tx store.Tx) error {
			stored, err := tx.Node(thing.ID)
			stored.Tags, stored.Note, stored.Summary.Text = []string{"夜"}, "n", "s"
			if err != nil {
				return err
			}
			return tx.ReplaceNode(stored)
		},
		func(tx store.Tx) error { return tx.Drop(thing) },
	} {
		if err := s.Update(store.WithOrigin(t.Context(), "desk 1"), namespace.Default, change); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"node_updated", "tags_updated", "summary_updated", "node_deleted"} {
		if e := w.next(); e.GetEvent() != name || e.GetNode() != n || e.GetOrigin() != "desk 1" {
			t.Errorf("%v, want %s of %s by desk 1", e, name, n)
		}
	}
	// Who comes back is told what came behind the last one that it knows.
	again := watch(t.Context(), t, c, proto.Int64(w.hello.GetSeq()+5))
	if again.hello.GetSeq() != w.hello.GetSeq()+5 || again.hello.GetLastSeq() != w.hello.GetSeq()+7 {
		t.Errorf("who comes back is greeted with %v", again.hello)
	}
	if diff := cmp.Diff([]string{"summary_updated " + n, "node_deleted " + n}, again.several(2)); diff != "" {
		t.Error(diff)
	}
}

// A filter is passed on, and everything that is wrong with it is told at once.
func TestWatchedThings(t *testing.T) {
	t.Parallel()
	c := serve(t)
	from := watch(t.Context(), t, c, nil).hello.GetSeq()
	settled := settle(t, c, namespace.Default)
	for _, tt := range []struct {
		req  *flowstorev1.WatchEventsRequest
		want []string
	}{
		{&flowstorev1.WatchEventsRequest{Events: []string{"flow_created", "node_created"}}, []string{"flow_created " + settled.flow, "node_created " + settled.root, "node_created " + settled.leaf}},
		{&flowstorev1.WatchEventsRequest{Nodes: []string{settled.leaf, settled.leaf}}, []string{"node_created " + settled.leaf}},
		{&flowstorev1.WatchEventsRequest{Flows: []string{"flows/" + id(404), settled.flow}, Events: []string{"node_created"}}, []string{"node_created " + settled.root, "node_created " + settled.leaf}},
	} {
		tt.req.SinceSeq = &from
		stream, err := c.WatchEvents(t.Context(), tt.req)
		if err != nil {
			t.Fatal(err)
		}
		w := watching{T: t, stream: stream}
		if diff := cmp.Diff(append([]string{"hello"}, tt.want...), w.several(1+len(tt.want))); diff != "" {
			t.Error(diff)
		}
	}
	many := strings.Fields(strings.Repeat("nodes/"+id(1)+" ", 1001))
	for _, tt := range []struct {
		req    *flowstorev1.WatchEventsRequest
		fields []string
	}{
		{&flowstorev1.WatchEventsRequest{SinceSeq: proto.Int64(-1), Events: []string{"node_created", "hello", ""}, Flows: []string{"", "nodes/" + id(1)}, Nodes: []string{"x"}},
			[]string{"events[1]", "events[2]", "flows[0]", "flows[1]", "nodes[0]", "since_seq"}},
		{&flowstorev1.WatchEventsRequest{Flows: many[:101], Nodes: many, Events: many[:10]}, []string{"events", "flows", "nodes"}},
	} {
		stream, err := c.WatchEvents(t.Context(), tt.req)
		if err == nil {
			_, err = stream.Recv()
		}
		expectSorted(t, err, invalid, tt.fields...)
	}
}

// told is a stream to nobody, that keeps what is sent.
type told struct {
	grpc.ServerStream
	ctx    context.Context
	events chan *flowstorev1.Event
}

func (s told) Context() context.Context { return s.ctx }

func (s told) Send(e *flowstorev1.Event) error {
	s.events <- e
	return nil
}

// An idle stream tells every 15 seconds that it lives, and how far its reader is: also one that wants nothing of what happens.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		l := library.New(s, &counting{})
		ctx, leave := context.WithCancel(t.Context())
		stream := told{ctx: ctx, events: make(chan *flowstorev1.Event, 100)}
		ended := make(chan error)
		go func() {
			ended <- transport.New(l).WatchEvents(&flowstorev1.WatchEventsRequest{Events: []string{"node_deleted"}}, stream)
		}()
		hello := <-stream.events
		for i := range int64(3) {
			begun := time.Now()
			if _, err := l.CreateNode(t.Context(), namespace.Default, library.NewNode{Node: node.Node{Texts: []node.Text{{Role: "user"}}}}); err != nil {
				t.Error(err)
			}
			same(t, &flowstorev1.Event{Event: "heartbeat", Seq: hello.GetSeq() + i + 1}, <-stream.events)
			if waited := time.Since(begun); waited != 15*time.Second { // The clock of the bubble.
				t.Errorf("after %s", waited)
			}
		}
		leave()
		if err := <-ended; err == nil || ctx.Err() == nil {
			t.Errorf("its reader left, and the stream ended with %v", err)
		}
	})
}

// A thousand readers are told the same, and all are let go when the server stops; none is left behind.
func TestManyWatchers(t *testing.T) {
	t.Parallel()
	const watchers = 1000
	config := grpcserver.DefaultConfig()
	config.MaxStreams, config.MaxInFlight = 2*watchers, 2*watchers
	l := library.New(memory.New(func() time.Time { return now }), &counting{})
	server, conn := testkit.ServeWith(t, grpcserver.Options{Config: config}, func(r grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(r, transport.New(l))
	})
	c := flowstorev1.NewFlowStoreServiceClient(conn)
	all := make([]watching, watchers)
	for i := range all {
		all[i] = watch(t.Context(), t, c, nil)
	}
	n := must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("a")})).GetName()
	for _, w := range all {
		if diff := cmp.Diff([]string{"node_created " + n}, w.several(1)); diff != "" {
			t.Fatal(diff)
		}
	}
	server.Drain()
	for _, w := range all {
		_, err := w.stream.Recv()
		expect(t, err, "Unavailable DRAINING")
	}
}

// A store that is closed first ends the streams too.
func TestWatchOfAClosedStore(t *testing.T) {
	t.Parallel()
	s := memory.New(func() time.Time { return now })
	w := watch(t.Context(), t, client(t, library.New(s, &counting{})), nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := w.stream.Recv()
	expect(t, err, "Unavailable DRAINING")
}

// A watcher is told what happens in its own namespace, with numbers of its own.
func TestWatchedNamespace(t *testing.T) {
	t.Parallel()
	l := library.New(memory.New(func() time.Time { return now }), &counting{})
	_, conn := testkit.ServeWith(t, grpcserver.Options{Config: grpcserver.DefaultConfig(), TrustCaller: true}, func(r grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(r, transport.New(l))
	})
	c := flowstorev1.NewFlowStoreServiceClient(conn)
	a := watch(namespace.With(t.Context(), "team-a"), t, c, nil)
	b := watch(namespace.With(t.Context(), "team-b"), t, c, nil)
	other := settle(t, c, "team-b")
	own := settle(t, c, "team-a")
	for w, what := range map[watching]tenant{a: own, b: other} {
		want := []string{"flow_created " + what.flow, "node_created " + what.root, "flow_updated " + what.flow, "node_created " + what.leaf, "flow_updated " + what.flow}
		if diff := cmp.Diff(want, w.several(len(want))); diff != "" {
			t.Error(diff)
		}
	}
}

// Every name of an event stands in the contract and in docs/events.md, and neither has one more.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	want := []string{"hello", "resync_required", "heartbeat"}
	for _, kind := range store.EventKinds {
		want = append(want, string(kind))
	}
	slices.Sort(want)
	for file, line := range map[string]string{"docs/events.md": "(?m)^\\| `(\\w+)` \\| .* \\|.*\\|$", "proto/tsumugi/flowstore/v1/events.proto": "(?m)^  // `(\\w+)`: "} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, found := range regexp.MustCompile(line).FindAllStringSubmatch(string(text), -1) {
			got = append(got, found[1])
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}
