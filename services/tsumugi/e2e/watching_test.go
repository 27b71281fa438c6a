package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// onlooker is a stream of WatchSession over one of the protocols.
type onlooker struct {
	account
	receive func() (*agentv1.SessionEvent, error)
	leave   func()
}

// onlookers are the ways to watch a session from an event on; nil: from now on.
func (o *office) onlookers(t *testing.T, name string, from *int64) map[string]*onlooker {
	t.Helper()
	s := o.approvers(t)[0]
	ctx, leave := context.WithCancel(o.ctx)
	stream, err := s.WatchSession(ctx, &agentv1.WatchSessionRequest{Name: name, FromSeq: from})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*onlooker{"gRPC": {receive: stream.Recv, leave: leave}}
	var headers []string
	query := ""
	if from != nil {
		headers, query = []string{"Last-Event-ID", strconv.FormatInt(*from, 10)}, "?fromSeq="+strconv.FormatInt(*from, 10)
	}
	all["SSE"] = o.onlooker(t, "/v1/"+name+":watchSession", append(headers, "Accept", sse)...)
	all["NDJSON"] = o.onlooker(t, "/v1/"+name+":watchSession"+query, "Accept", ndjson)
	return all
}

// onlooker watches over REST, as the header Accept says.
func (o *office) onlooker(t *testing.T, path string, headers ...string) *onlooker {
	t.Helper()
	ctx, cancel := context.WithCancel(o.ctx)
	q, err := o.request(ctx, http.MethodGet, path, nil, headers...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	leave := func() { cancel(); r.Body.Close() }
	t.Cleanup(leave)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, r.Status)
	}
	lines := bufio.NewReader(r.Body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), sse) {
		return &onlooker{receive: func() (*agentv1.SessionEvent, error) { return nextOf(lines) }, leave: leave}
	}
	return &onlooker{receive: func() (*agentv1.SessionEvent, error) {
		text, err := nextResult(lines)
		if err != nil {
			return nil, err
		}
		out := &agentv1.SessionEvent{}
		return out, protojson.Unmarshal(text, out)
	}, leave: leave}
}

// nextOf reads an event of a session from SSE. Its id is its seq; what comes before all rows has none.
func nextOf(lines *bufio.Reader) (*agentv1.SessionEvent, error) {
	id := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
		case "id":
			id = value
		case "data":
			e := &agentv1.SessionEvent{}
			if err := protojson.Unmarshal([]byte(value), e); err != nil {
				return nil, fmt.Errorf("%w in %s", err, value)
			}
			if e.GetSeq() > 0 && id != strconv.FormatInt(e.GetSeq(), 10) {
				return nil, fmt.Errorf("the event %d has the id %q", e.GetSeq(), id)
			}
			return e, nil
		}
	}
}

// step reads the next event.
func (w *onlooker) step() error {
	e, err := w.receive()
	if err == nil {
		w.take(e)
	}
	return err
}

// upto reads until so many events of what happened are there.
func (w *onlooker) upto(t *testing.T, how string, n int) {
	t.Helper()
	for len(w.seqs) < n {
		if err := w.step(); err != nil {
			t.Fatalf("over %s, behind %v: %v", how, w.seqs, err)
		}
	}
}

// history is all that a stream from the beginning of a session tells of it by now.
func (o *office) history(t *testing.T, name string) []*agentv1.SessionEvent {
	t.Helper()
	zero, last := int64(0), o.get(t, o.approvers(t)[0], name).GetSeq()
	w := o.onlookers(t, name, &zero)["SSE"]
	defer w.leave()
	w.upto(t, "SSE", int(last))
	return w.events
}

// parked makes a session that waits for a decision about a write.
func (o *office) parked(t *testing.T, s surface, path string) (name string, asked *agentv1.Approval) {
	t.Helper()
	name = o.session(t, s)
	o.think(say("EXECUTION", "continue", "actions", acts("write", args{"path": path, "content": "一"})), say("EXECUTION", "done", "reply", "書きました。"))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "書いて"})
	return name, o.waiting(t, s, name)[0]
}

// agreeing: all that tell of a session tell the same of one version of it, while it waits and when it was decided (cases/agent.md c13).
func agreeing(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	all := o.approvers(t)
	name, asked := o.parked(t, all[0], "a.md")
	check := func(pending bool) {
		t.Helper()
		var views []*agentv1.Session
		for _, s := range all {
			listed, err := s.ListSessions(o.ctx, &agentv1.ListSessionsRequest{})
			if err != nil || len(listed.GetSessions()) != 1 {
				t.Fatalf("over %s: %v, %v", s.how, listed, err)
			}
			views = append(views, o.get(t, s, name), listed.GetSessions()[0])
			inbox, err := s.ListApprovals(o.ctx, &agentv1.ListApprovalsRequest{})
			if err != nil || pending != (len(inbox.GetApprovals()) == 1 && inbox.GetApprovals()[0].GetName() == asked.GetName()) {
				t.Errorf("over %s: %v, %v", s.how, inbox, err)
			}
		}
		for how, w := range o.onlookers(t, name, nil) {
			if err := w.step(); err != nil || w.session == nil {
				t.Fatalf("over %s: %v", how, err)
			}
			views = append(views, w.session)
			w.leave()
		}
		first := views[0]
		if first.GetPendingGate() != pending || slices.Equal(first.GetWaitingOn(), []string{asked.GetName()}) != pending || (first.GetStep() == agentv1.Step_STEP_AWAITING_APPROVAL) != pending {
			t.Errorf("%v", first)
		}
		for _, v := range views {
			if !proto.Equal(v, first) {
				t.Errorf("%v\nis not\n%v", v, first)
			}
		}
	}
	check(true)
	o.decide(t, all[1], asked, agentv1.Decision_DECISION_DENY, "")
	o.until(t, all[0], name, "the turn ends", rests)
	o.eventually(t, "its turn is in flowstore", func() bool { // which is a change of the session, too
		before := o.get(t, all[0], name).GetFlow()
		return before != ""
	})
	check(false)
}

// missedNothing: whoever comes again gets each event once and in order, also when the stream broke at once, and after a restart; what is parked can be
// watched then, and what is done ends the stream (cases/agent.md c19, c20).
func missedNothing(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	name, asked := o.parked(t, o.approvers(t)[0], "a.md")
	known := int64(3)
	for range 2 { // dropped before the first event
		for _, w := range o.onlookers(t, name, &known) {
			w.leave()
		}
	}
	o.restart(t)
	s := o.approvers(t)[0]
	last := o.get(t, s, name).GetSeq()
	watchers := o.onlookers(t, name, &known)
	for how, w := range watchers {
		if w.upto(t, how, int(last-known)); w.session == nil || w.events[0].GetSession() == nil || !w.session.GetPendingGate() {
			t.Errorf("over %s: the first event is %v", how, w.events[0])
		}
	}
	o.decide(t, s, asked, agentv1.Decision_DECISION_APPROVE, "")
	o.think(say("EXECUTION", "continue"), say("REVIEW", "continue"), say("REVIEW", "done", "reply", "終わりました。"))
	o.until(t, s, name, "the turn ends", rests)
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "終えて"})
	end := o.until(t, s, name, "the task ends", func(now *agentv1.Session) bool { return now.GetLifecycle() == agentv1.Lifecycle_LIFECYCLE_DONE })
	for how, w := range watchers {
		var err error
		for err == nil {
			err = w.step()
		}
		if !errors.Is(err, io.EOF) || w.session.GetLifecycle() != agentv1.Lifecycle_LIFECYCLE_DONE {
			t.Errorf("over %s: the stream ends with %v and %v", how, err, w.session)
		}
		for i, seq := range w.seqs {
			if seq != known+1+int64(i) {
				t.Fatalf("over %s: behind %d come the events %v", how, known, w.seqs)
			}
		}
		if got := w.seqs[len(w.seqs)-1]; got < end.GetSeq() {
			t.Errorf("over %s: the last event is %d of %d", how, got, end.GetSeq())
		}
	}
	o.unwatchable(t, s, name, end.GetSeq())
}

// unwatchable: what was never there is NOT_FOUND before anything else, and what is beyond the last event is out of range.
func (o *office) unwatchable(t *testing.T, s surface, name string, last int64) {
	t.Helper()
	for path, want := range map[string]refusal{
		"/v1/sessions/0196b2c4-0008-7aaa-8bbb-000000000008:watchSession":       {code: codes.NotFound, reason: "SESSION_NOT_FOUND"},
		"/v1/" + name + ":watchSession?fromSeq=" + fmt.Sprint(last+1000):       refusal{code: codes.OutOfRange, reason: "EVENT_OUT_OF_RANGE"}.in("fromSeq"),
		"/v1/" + name + ":watchSession?fromSeq=-1":                             refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}.in("fromSeq"),
		"/v1/sessions/0196b2c4-0008-7aaa-8bbb-000000000008/x:watchSession?y=z": {code: codes.NotFound},
	} {
		got := o.rest(t, http.MethodGet, path, nil, "Accept", sse)
		if got.status == http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		} else if want.reason != "" {
			want.check(t, got.err())
		}
	}
	for _, w := range o.onlookers(t, name, nil) {
		if err := w.step(); err != nil || w.session == nil {
			t.Errorf("a session that is done: %v", err)
		}
		if err := w.step(); !errors.Is(err, io.EOF) {
			t.Errorf("a session that is done goes on: %v, %v", err, w.events)
		}
	}
	stream, err := s.WatchSession(o.ctx, &agentv1.WatchSessionRequest{Name: "sessions/0196b2c4-0008-7aaa-8bbb-000000000008"})
	if err == nil {
		_, err = stream.Recv()
	}
	refusal{code: codes.NotFound, reason: "SESSION_NOT_FOUND"}.check(t, err)
}

// Watchers that leave, and those that vanish without a word, leave nothing behind, and the session goes on without them (cases/agent.md c35). It is
// no scenario: the goroutines of the process are counted, and no other test may run.
func TestAgent35WatchersVanish(t *testing.T) {
	o := newOffice(t, oneProcess, "", "")
	o.start(t)
	s := o.approvers(t)[0]
	name, asked := o.parked(t, s, "a.md")
	o.http.CloseIdleConnections()
	base, open := runtime.NumGoroutine(), descriptors()
	const many, few = 500, 10
	var leave []func()
	for i := range many {
		if i%2 == 0 {
			leave = append(leave, o.mute(t, "/v1/"+name+":watchSession"))
			continue
		}
		w := o.onlooker(t, "/v1/"+name+":watchSession", "Accept", []string{sse, ndjson}[i/2%2])
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		leave = append(leave, w.leave)
	}
	if n := runtime.NumGoroutine(); n < base+many {
		t.Fatalf("%d goroutines for %d watchers", n-base, many)
	}
	for _, away := range leave {
		away()
	}
	gone := time.Now()
	o.http.CloseIdleConnections()
	o.eventually(t, "the watchers are forgotten", func() bool { return runtime.NumGoroutine() < base+few && descriptors() < open+few })
	if took := time.Since(gone); took > 2*heartbeat+heartbeat/2 { // and half of one for a machine that is busy
		t.Errorf("the watchers were forgotten after %s", took)
	}
	o.decide(t, s, asked, agentv1.Decision_DECISION_APPROVE, "")
	if o.until(t, s, name, "the turn ends", rests); o.file(t, "a.md") != "一" {
		t.Error("nothing was written")
	}
}

// heartbeat is how often a silent stream says that it lives.
const heartbeat = 15 * time.Second

// descriptors counts those of the process; where the system does not tell there are none.
func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// mute watches over a connection of its own until the first event. away has it vanish: no packet tells the server, where the system lets us do that
// (Linux, with the right to administer the network), else it is closed.
func (o *office) mute(t *testing.T, path string) (away func()) {
	t.Helper()
	host := strings.TrimPrefix(o.base, "http://")
	conn, err := new(net.Dialer).DialContext(o.ctx, "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n\r\n", path, host, sse); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return func() {
		const repair = 19 // TCP_REPAIR: what is closed then sends nothing
		if raw, err := conn.(*net.TCPConn).SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, repair, 1) })
		}
		conn.Close()
	}
}
