package flowstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/flowstore"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/servicetest"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessiontool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

type clock struct{}

func (clock) Now() time.Time                     { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }
func (clock) NewTimer(time.Duration) *time.Timer { return time.NewTimer(10 * time.Millisecond) }
func (clock) Fault(_ context.Context, err error) { _ = err }

// kept is a session in a real ledger, of which turns end.
type kept struct {
	*testing.T
	*ledger.Ledger
	id string
}

func newKept(t *testing.T) *kept {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "agent.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	keys, err := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("k", audit.MinKey))})
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{t, ledger.New(s, keys, session.Machine{Limits: session.DefaultLimits()}, clock{}), "0196b2c4-1111-7aaa-8bbb-0000a1b2c301"}
	fresh := ledger.Fresh{ID: k.id, Owner: "ann", Items: session.Items{Goal: "港の話を書く"}}
	if _, err := k.Create(t.Context(), namespace.Default, fresh, audit.Actor{Name: "ann", Kind: audit.Person}); err != nil {
		t.Fatal(err)
	}
	return k
}

// turn ends one, or answers a message from a snapshot.
func (k *kept) turn(user string, aside bool) ledger.Session {
	k.Helper()
	s, err := k.Change(k.Context(), namespace.Default, k.id, audit.Actor{Name: "agent", Kind: audit.System}, func(w *ledger.Work) error {
		x := conversation.Exchange{User: user, Reply: user + "、はい", Made: ledger.Made{AnswerTokens: 7, Finish: "stop"}}
		if aside {
			w.Row(audit.Entry{Kind: audit.Aside, Verdict: "ANSWERED", Reason: "asked aside", ArgsDigest: strings.Repeat("a", 64)})
			return conversation.Aside(w, x)
		}
		w.Row(audit.Entry{Kind: audit.Turn, Verdict: "STOPPED", Reason: "DONE"})
		_, err := conversation.Keep(w, x)
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return s
}

// TestASessionIsAConversation: the turns of a session are a flow in a real flowstore, one node behind the other and an aside beside them,
// found by a search, also those that ended while it was away; what a person deletes stays deleted, and the session goes on in another flow.
func TestASessionIsAConversation(t *testing.T) {
	t.Parallel()
	p := servicetest.Build(t, "flowstore").Start(t, "--data", t.TempDir())
	conn := p.Conn()
	rpc, c := flowstorev1.NewFlowStoreServiceClient(conn), flowstore.NewConversations(conn)
	ctx := namespace.With(t.Context(), namespace.Default)
	k := newKept(t)
	w := conversation.NewWriter(k.Ledger, c, 5*time.Second)
	k.turn("一", false)
	if err := w.Flush(t.Context(), namespace.Default, k.id); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	k.turn("傍ら", true)
	s := k.turn("二", false)
	k.turn("三", false)
	if err := w.Flush(t.Context(), namespace.Default, k.id); !errors.Is(err, conversation.ErrAway) {
		t.Errorf("while it is away: %v", err)
	}
	p.Start()
	running, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(running, clock{}, clock{})
	}()
	path := func() (texts []string) {
		flow, err := rpc.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: "flows/" + s.Flow})
		if err != nil {
			return nil
		}
		page, err := rpc.ListPathNodes(ctx, &flowstorev1.ListPathNodesRequest{Flow: flow.GetName()})
		for _, n := range page.GetNodes() {
			texts = append(texts, n.GetNode().GetTexts()[0].GetContent())
		}
		return append(texts, fmt.Sprintf("%s %d %d %v", flow.GetDisplayName(), len(flow.GetNodes()), len(flow.GetEdges()), err))
	}
	for deadline := time.Now().Add(time.Minute); len(path()) < 4 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // until it is stored
	}
	stop()
	<-done
	if got := path(); strings.Join(got, " ") != "一 二 三 港の話を書く 4 3 <nil>" {
		t.Errorf("%q", got)
	}
	found, err := rpc.SearchNodes(ctx, &flowstorev1.SearchNodesRequest{Query: "傍ら"})
	if err != nil || len(found.GetHits()) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	k.refers(conn, s)
	if _, err := rpc.DeleteFlow(ctx, &flowstorev1.DeleteFlowRequest{Name: "flows/" + s.Flow}); err != nil {
		t.Fatal(err)
	}
	k.turn("四", false)
	k.turn("五", false)
	if err := w.FlushAll(t.Context()); err != nil {
		t.Error(err)
	}
	old := s.Flow
	if s, err = k.Get(t.Context(), namespace.Default, k.id); err != nil || s.Flow == old || len(s.Notices) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if got := path(); len(got) != 3 || got[0] != "四" || got[1] != "五" {
		t.Errorf("%q", got)
	}
}

// refers looks at the references of a session over the same connection.
func (k *kept) refers(conn grpc.ClientConnInterface, s ledger.Session) {
	k.Helper()
	s.Thread.Refs = []string{"conversation:1", "conversation:flows/" + s.Flow, "conversation:" + conversation.NodeID("other", 1).String()}
	lines, err := sessiontool.References{Flows: flowstore.NewConversations(conn), Nodes: nodecontext.New(flowstore.New(conn), nil)}.Lines(k.Context(), namespace.Default, s)
	if err != nil || len(lines) != 4 || lines[0].Prompt != "一" || lines[0].Answer != "一、はい" {
		k.Errorf("%+v, %v", lines, err)
	}
}
