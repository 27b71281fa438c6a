package transport

import (
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// CheckStore tells what is wrong with what is stored. A caller that reads slowly slows its own look and nothing else.
func (s *Server) CheckStore(req *flowstorev1.CheckStoreRequest, stream grpc.ServerStreamingServer[flowstorev1.CheckStoreEvent]) error {
	f := begin(req)
	ctx := stream.Context()
	p := &progress{send: func(step *flowstorev1.CheckProgress) error {
		return stream.Send(&flowstorev1.CheckStoreEvent{Event: &flowstorev1.CheckStoreEvent_Progress{Progress: step}})
	}}
	look, err := s.library.Look(ctx, namespace.From(ctx), p.tell)
	if err != nil {
		return f.fault(err)
	}
	if p.err != nil {
		return p.err
	}
	for _, finding := range look.Findings {
		if err := stream.Send(&flowstorev1.CheckStoreEvent{Event: &flowstorev1.CheckStoreEvent_Finding{Finding: fromFinding(finding)}}); err != nil {
			return err
		}
	}
	result := &flowstorev1.CheckResult{NodeFiles: number(look.Nodes), FlowFiles: number(look.Flows)}
	for _, n := range look.More {
		result.MoreFindings += number(n)
	}
	return stream.Send(&flowstorev1.CheckStoreEvent{Event: &flowstorev1.CheckStoreEvent_Result{Result: result}})
}

// progress tells how far a look is, at most a hundred times or so in one look through a large store.
type progress struct {
	send func(*flowstorev1.CheckProgress) error
	next int
	err  error
}

// leastStep is how many files are worth another message.
const leastStep = 100

func (p *progress) tell(read, files int) {
	if read == 1 {
		p.next = 0
	}
	if p.err != nil || read < p.next && read < files {
		return
	}
	p.next = read + max(leastStep, files/100)
	p.err = p.send(&flowstorev1.CheckProgress{FilesRead: number(read), Files: number(files)})
}

var damages = map[store.Damage]flowstorev1.StoreFinding_Kind{
	store.DamageTrashName:    flowstorev1.StoreFinding_KIND_TRASH_NAME,
	store.DamagePurged:       flowstorev1.StoreFinding_KIND_PURGED_IS_BACK,
	store.DamageTombstones:   flowstorev1.StoreFinding_KIND_TOMBSTONE_LINE,
	store.DamageUnreadable:   flowstorev1.StoreFinding_KIND_UNREADABLE,
	store.DamageConflict:     flowstorev1.StoreFinding_KIND_CONFLICT_MARKERS,
	store.DamageNUL:          flowstorev1.StoreFinding_KIND_NUL_FILE,
	store.DamageMissingNode:  flowstorev1.StoreFinding_KIND_MISSING_NODE,
	store.DamageDanglingEdge: flowstorev1.StoreFinding_KIND_DANGLING_EDGE,
	store.DamageCycle:        flowstorev1.StoreFinding_KIND_CYCLE,
	store.DamageCurrent:      flowstorev1.StoreFinding_KIND_BAD_CURRENT,
	store.DamageEntry:        flowstorev1.StoreFinding_KIND_BAD_ENTRY,
	store.DamageDuplicateID:  flowstorev1.StoreFinding_KIND_DUPLICATE_ID,
	store.DamageName:         flowstorev1.StoreFinding_KIND_WRONG_NAME,
	store.DamageFolder:       flowstorev1.StoreFinding_KIND_UNKNOWN_FOLDER,
	store.DamageIrregular:    flowstorev1.StoreFinding_KIND_IRREGULAR,
	store.DamageIndexMissing: flowstorev1.StoreFinding_KIND_INDEX_MISSING,
	store.DamageIndexDead:    flowstorev1.StoreFinding_KIND_INDEX_DEAD,
	store.DamageIndexWrong:   flowstorev1.StoreFinding_KIND_INDEX_WRONG,
	store.DamageIndexLine:    flowstorev1.StoreFinding_KIND_INDEX_LINE,
	store.DamageTemporary:    flowstorev1.StoreFinding_KIND_TEMPORARY_FILE,
	store.DamageHead:         flowstorev1.StoreFinding_KIND_DANGLING_HEAD,
	store.DamageLink:         flowstorev1.StoreFinding_KIND_DANGLING_LINK,
	store.DamageLineEnds:     flowstorev1.StoreFinding_KIND_LINE_ENDS,
}

var mendings = map[store.Mending]flowstorev1.StoreFinding_Mending{
	store.ByPerson: flowstorev1.StoreFinding_MENDING_PERSON, store.ByRepair: flowstorev1.StoreFinding_MENDING_REPAIR,
	store.ByRepairAsked: flowstorev1.StoreFinding_MENDING_REPAIR_IF_ASKED,
}

func fromFinding(f store.Finding) *flowstorev1.StoreFinding {
	return &flowstorev1.StoreFinding{
		Kind: damages[f.Kind], Path: f.Path, Line: number(f.Line), Reason: f.Reason, Fix: f.Fix, Mending: mendings[f.By],
	}
}
