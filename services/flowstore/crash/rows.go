package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// row is a writing RPC. A new one gets a line in rows and a function that draws an operation; TestEveryRPCHasARow finds
// one that is missing.
type row struct {
	rpc string
	// weight is how often it is drawn, beside the others: a purge or a repair seldom, since they wait until all that was asked before
	// is in files.
	weight int
	// draw gives an operation, nil where there is nothing to do it with.
	draw func(d drawing) *operation
}

var rows = []row{
	{"CreateNode", 16, createNode},
	{"AddNode", 56, addNode},
	{"UpdateNode", 20, updateNode},
	{"RestoreNodeRevision", 4, restoreNodeRevision},
	{"SplitNode", 8, splitNode},
	{"ConnectNodes", 16, connectNodes},
	{"DisconnectNodes", 12, disconnectNodes},
	{"ReconnectNodes", 12, reconnectNodes},
	{"UpdateFlow", 8, updateFlow},
	{"SetCurrentNode", 12, setCurrentNode},
	{"BranchFlow", 8, branchFlow},
	{"CreateFlow", 4, createFlow},
	{"RemoveNode", 12, removeNode},
	{"RebuildFlow", 8, rebuildFlow},
	{"ForkFlow", 4, forkFlow},
	{"UndoFlow", 12, undoFlow},
	{"RedoFlow", 40, redoFlow}, // mostly there is nothing to draw
	{"DeleteNode", 16, deleteNode},
	{"UndeleteNode", 8, undeleteNode},
	{"DeleteFlow", 4, deleteFlow},
	{"UndeleteFlow", 4, undeleteFlow},
	{"PurgeNode", 1, purgeNode},
	{"PurgeFlow", 1, purgeFlow},
	{"ImportFlows", 8, importFlows},
	{"RepairStore", 1, repairStore},
}

// reads are the RPCs that write nothing, and FlushStore, which changes nothing that can be read.
var reads = strings.Fields(`GetNode ListNodes ListNodeRevisions DiffNodes GetFlow ListFlows ListPathNodes ListHistoryNodes DiffHeads ValidateFlow
	CheckStore FlushStore WatchEvents SearchNodes ListTags ExportFlows`)

// drawing is what an operation is drawn from. The ledger is locked.
type drawing struct {
	*ledger
	random *rand.Rand
	// flow is one of those that there are, drawn before; empty where there is none.
	flow string
	// maxFlows is how many there may be.
	maxFlows int
}

// drawn gives what one of rows draws and nobody stands in the way of; nil where that is nothing.
func (l *ledger) drawn(r row, random *rand.Rand, maxFlows int) *operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := drawing{ledger: l, random: random, maxFlows: maxFlows}
	d.flow = d.oneOf(l.flows)
	o := r.draw(d)
	if o == nil || !l.take(o) {
		return nil
	}
	o.rpc = r.rpc
	return o
}

func (d drawing) oneOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[d.random.IntN(len(names))]
}

// some draws up to n members of the flow, each once, those born before a node only; "" is born last.
func (d drawing) some(n int, before string) []string {
	limit, known := d.born[before]
	var names []string
	for range n {
		if name := d.oneOf(d.members[d.flow]); name != "" && (!known || d.born[name] < limit) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// part begins an operation on parts of the flow: others may change other parts meanwhile.
func (d drawing) part(writes map[key]string, ask request) *operation {
	return &operation{writes: writes, shares: []key{{d.flow, partIs}}, ask: ask}
}

// keep has members, and their nodes, stay as long as an operation is under way.
func (d drawing) keep(o *operation, members ...string) *operation {
	for _, name := range members {
		o.shares = append(o.shares, key{name, partText}, member(d.flow, name))
	}
	return o
}

func requestID() string { return uuid.NewString() }

// token stands for a name that the server chooses.
func token() string { return "chosen-" + uuid.NewString() }

// request asks for something, as often as it is called, and gives the name that the server chose, if any.
type request func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) (made string, err error)

// named is a thing that an answer tells.
type named interface{ GetName() string }

// asks makes a request out of a method of the client.
func asks[Req proto.Message, Res named](req Req, call func(flowstorev1.FlowStoreServiceClient, context.Context, Req) (Res, error)) request {
	return func(ctx context.Context, c flowstorev1.FlowStoreServiceClient) (string, error) {
		answer, err := call(c, ctx, req)
		if err != nil {
			return "", err
		}
		return answer.GetName(), nil
	}
}

// text draws one of its own, up to some kilobytes, with things in it that formats stumble over.
func (d drawing) text() string {
	pieces := []string{"夜明け前の町は静かだった。\n", "]]>", "\r\n", "\x00", "\\", "  \n\n", "少女は駅に立っていた。", "&lt;", "👩‍👩‍👧"}
	var b strings.Builder
	fmt.Fprintf(&b, "%016x ", d.random.Uint64()) // marker reads it
	for range d.random.IntN(60) {
		b.WriteString(pieces[d.random.IntN(len(pieces))])
	}
	return b.String()
}

// node draws what a new node says.
func (d drawing) node() *flowstorev1.Node {
	n := &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: d.text()}}}
	if d.random.IntN(4) == 0 {
		n.Tags = []string{"駅", fmt.Sprintf("章%d", d.random.IntN(9))}
	}
	return n
}

// parentsWith gives a copy of what a member continues, with changes.
func (l *ledger) parentsWith(flow, node string, change func(map[string]string)) string {
	parents := maps.Clone(l.parents(flow, node))
	change(parents)
	return continues(parents)
}
