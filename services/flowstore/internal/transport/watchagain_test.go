package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// window is what a client has on the way to it that it has not read: with a fixed one, the least that gRPC takes, a reader that stops is
// soon far behind.
const window = 64 << 10

// filled is how many changes fill makes: more events than a store holds in memory (2,048) and a connection on its way.
const filled = 5000

// openFiles opens a store of files that keeps about so many events, and serves it. stop ends both, as a restart would.
func openFiles(t *testing.T, data string, maxEvents int64) (s *files.Store, c flowstorev1.FlowStoreServiceClient, stop func()) {
	t.Helper()
	s, err := files.Open(files.Options{Data: data, MaxEvents: maxEvents})
	if err != nil {
		t.Fatal(err)
	}
	server := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig()})
	flowstorev1.RegisterFlowStoreServiceServer(server.Registrar(), transport.New(library.New(s, &counting{})))
	listener := bufconn.Listen(window)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///files", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window))
	if err != nil {
		t.Fatal(err)
	}
	return s, flowstorev1.NewFlowStoreServiceClient(conn), func() {
		for _, end := range []func() error{conn.Close, func() error { return server.Stop(context.Background()) }, func() error { return <-served }, s.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	}
}

// fill makes so many changes, fifty in a transaction, of few files, and lets the store forget what it need not keep.
func fill(t *testing.T, s *files.Store) {
	t.Helper()
	const flows = 50
	ctx := store.WithOrigin(t.Context(), "someone who writes much, with a long name that takes its room")
	for round := range filled / flows {
		name := fmt.Sprint("round ", round)
		err := s.Update(ctx, namespace.Default, func(tx store.Tx) (err error) {
			for i := range uint32(flows) {
				f := flow.Flow{ID: uuid.MustParse(id(10_000 + i)), Name: name, Created: tx.Now(), Updated: tx.Now(), Next: 1}
				if round == 0 {
					err = errors.Join(err, tx.CreateFlow(f))
				} else {
					err = errors.Join(err, tx.ChangeFlow(f.ID, flow.Change{At: tx.Now(), Name: &name}))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Flush(t.Context(), namespace.Default); err != nil {
		t.Fatal(err)
	}
}

// inOrder reads so many changes, each of which must be the next.
func (w watching) inOrder(after int64, n int) {
	w.Helper()
	for i := range int64(n) {
		if e := w.next(); e.GetSeq() != after+i+1 {
			w.Fatalf("behind %d came %v", after+i, e)
		}
	}
}

// Who was away is told what it missed, once each and in order, also after a restart.
func TestFlowstore29MissedEvents(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, c, stop := openFiles(t, data, 0)
	ctx, cut := context.WithCancel(t.Context())
	w := watch(ctx, t, c, nil)
	create := func() string {
		return must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("a"), NodeId: uuid.NewString()})).GetName()
	}
	first := create()
	if e := w.next(); e.GetNode() != first {
		t.Errorf("%v, want %s", e, first)
	}
	known := w.hello.GetSeq() + 1
	cut()
	missed := []string{create(), create(), create()}
	for range 2 {
		w = watch(t.Context(), t, c, &known)
		for i, name := range missed {
			if e := w.next(); e.GetSeq() != known+int64(i)+1 || e.GetEvent() != "node_created" || e.GetNode() != name {
				t.Errorf("event %d is %v, want %s", i, e, name)
			}
		}
		stop()
		_, c, stop = openFiles(t, data, 0)
	}
	stop()
}

// Who was away for too long is told to read everything anew, and from when on it is told what happens.
func TestFlowstore29PrunedEvents(t *testing.T) {
	t.Parallel()
	s, c, stop := openFiles(t, t.TempDir(), 100)
	defer stop()
	known := watch(t.Context(), t, c, nil).hello.GetSeq()
	fill(t, s)
	w := watch(t.Context(), t, c, &known)
	if w.hello.GetSeq() != known || w.hello.GetLastSeq() != known+filled {
		t.Errorf("greeted with %v", w.hello)
	}
	same(t, &flowstorev1.Event{Event: "resync_required", Seq: known + filled, LastSeq: proto.Int64(known + filled)}, w.next())
	must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("a")}))
	w.inOrder(known+filled, 1)
}

// A reader that stops holds up nobody. When it goes on it gets all that it has not read, or is told what it cannot get any more.
func TestFlowstore29SlowReader(t *testing.T) {
	t.Parallel()
	for title, kept := range map[string]int64{"all is kept": 0, "a hundred are kept": 100} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s, c, stop := openFiles(t, t.TempDir(), kept)
			defer stop()
			slow, quick := watch(t.Context(), t, c, nil), watch(t.Context(), t, c, nil)
			from := slow.hello.GetSeq()
			read := make(chan struct{})
			go func() {
				defer close(read)
				for e, err := quick.stream.Recv(); err == nil && e.GetSeq() < from+filled; {
					e, err = quick.stream.Recv()
				}
			}()
			fill(t, s)
			<-read
			if kept == 0 {
				slow.inOrder(from, filled)
				return
			}
			at := from
			e := slow.next()
			for ; e.GetSeq() == at+1 && e.GetFlow() != ""; e = slow.next() {
				at = e.GetSeq()
			}
			if at == from || e.GetEvent() != "resync_required" || e.GetSeq() != from+filled || e.GetLastSeq() != from+filled {
				t.Fatalf("after %d events: %v", at-from, e)
			}
			must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("a")}))
			slow.inOrder(from+filled, 1)
		})
	}
}
