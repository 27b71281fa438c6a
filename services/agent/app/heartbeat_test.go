package app_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/app"
)

// beats reads a stream until it has two heartbeats one after the other, and gives the seq of the last event before them. They take no number:
// whoever comes again with theirs misses nothing.
func (d *desk) beats(s grpc.ServerStreamingClient[agentv1.SessionEvent]) (last int64) {
	d.Helper()
	for told, beats := int64(0), 0; beats < 2; {
		e, err := s.Recv()
		d.ok(err)
		switch {
		case e.GetHeartbeat() == nil:
			told, beats = e.Seq, 0
		case e.Seq != told:
			d.Fatalf("a heartbeat of %d behind the event %d", e.Seq, told)
		default:
			beats++
		}
		last = told
	}
	return last
}

// event reads the next event that is no heartbeat.
func (d *desk) event(s grpc.ServerStreamingClient[agentv1.SessionEvent]) *agentv1.SessionEvent {
	d.Helper()
	for {
		e, err := s.Recv()
		d.ok(err)
		if e.GetHeartbeat() == nil {
			return e
		}
	}
}

// TestAStreamThatIsSilentTellsThatItLives: the stream of a session that nobody sends anything, and that of a message while the model thinks; what
// happens then is told by the same stream.
func TestAStreamThatIsSilentTellsThatItLives(t *testing.T) {
	t.Parallel()
	d := newDeskWith(t, func(c *app.Config) { c.Generation.Heartbeat = 20 * time.Millisecond })
	s := d.create(&agentv1.Session{Goal: "港"})
	ctx, stop := context.WithTimeout(d.ann(), time.Minute)
	defer stop()
	watch, err := d.agent.WatchSession(ctx, &agentv1.WatchSessionRequest{Name: s.Name, FromSeq: proto.Int64(0)})
	d.ok(err)
	last := d.beats(watch)
	sent, err := d.agent.SendMessage(ctx, &agentv1.SendMessageRequest{Session: s.Name, Text: "ゆっくり"})
	d.ok(err)
	if e := d.event(watch); e.Seq != last+1 {
		t.Errorf("behind the event %d comes %v", last, e)
	}
	d.beats(sent)
	works := d.until(s.Name, func(*agentv1.Session) bool { return true })
	_, err = d.agent.CancelTurn(d.ann(), &agentv1.CancelTurnRequest{Session: s.Name, Turn: works.Turn.GetId(), Mode: agentv1.CancelMode_CANCEL_MODE_HARD})
	d.ok(err)
	events := d.all(sent, nil)
	if got := events[len(events)-1].GetSession().GetLifecycle(); got != agentv1.Lifecycle_LIFECYCLE_CANCELED {
		t.Errorf("the stream of the message ends with %v", events[len(events)-1])
	}
}
