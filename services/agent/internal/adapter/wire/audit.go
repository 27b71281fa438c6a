package wire

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// FromRow writes a row of an audit, all of it but its namespace.
func FromRow(r audit.Row) *agentv1.AuditRecord {
	return &agentv1.AuditRecord{
		Seq: int64(r.Seq), Time: timestamppb.New(r.Time), Session: Sessions + r.Session, Task: r.Task, Turn: r.Turn, Actor: r.Actor.Name, ActorKind: string(r.Actor.Kind),
		Kind: string(r.Kind), Verdict: r.Verdict, Reason: r.Reason, CallHash: r.CallHash, Digest: r.Digest, ArgsDigest: r.ArgsDigest, Before: r.Before,
		After: r.After, Details: r.Details, KeyId: r.KeyID, Prev: r.Prev, Mac: r.MAC,
	}
}

// Row reads a row of a namespace, as FromRow has written it: its codes say whether it is as it was made.
func Row(namespace string, r *agentv1.AuditRecord) audit.Row {
	return audit.Row{
		Seq: uint64(r.GetSeq()), KeyID: r.GetKeyId(), Prev: r.GetPrev(), MAC: r.GetMac(), //nolint:gosec // one below 0 has no code that fits
		Entry: audit.Entry{
			Time: r.GetTime().AsTime(), Namespace: namespace, Session: strings.TrimPrefix(r.GetSession(), Sessions), Task: r.GetTask(), Turn: r.GetTurn(),
			Actor: audit.Actor{Name: r.GetActor(), Kind: audit.ActorKind(r.GetActorKind())}, Kind: audit.Kind(r.GetKind()), Verdict: r.GetVerdict(), Reason: r.GetReason(),
			CallHash: r.GetCallHash(), Digest: r.GetDigest(), ArgsDigest: r.GetArgsDigest(), Before: r.GetBefore(), After: r.GetAfter(), Details: r.GetDetails(),
		},
	}
}

// FromHead writes where the audit of a session ends; nil for the zero Head.
func FromHead(h audit.Head) *agentv1.AuditHead {
	if h == (audit.Head{}) {
		return nil
	}
	return &agentv1.AuditHead{
		Namespace: h.Namespace, Session: Sessions + h.Session, Seq: int64(h.Seq), Mac: h.MAC, Time: timestamppb.New(h.Time), KeyId: h.KeyID, Seal: h.Seal, //nolint:gosec // no session has so many rows
	}
}

// Head reads it.
func Head(h *agentv1.AuditHead) audit.Head {
	return audit.Head{
		Namespace: h.GetNamespace(), Session: strings.TrimPrefix(h.GetSession(), Sessions), Seq: uint64(h.GetSeq()), MAC: h.GetMac(), //nolint:gosec // one below 0 has no seal that fits
		Time: h.GetTime().AsTime(), KeyID: h.GetKeyId(), Seal: h.GetSeal(),
	}
}
