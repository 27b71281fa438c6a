package prompt

import (
	"fmt"
	"strings"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// The marks of sections and parts beside an earlier build.
const (
	same    = "="
	changed = "~"
	added   = "+"
)

func partKey(s *promptbuilderv1.SystemSection, p *promptbuilderv1.SystemPart) string {
	return s.GetId() + "\x00" + p.GetId()
}

// marks says of each section and part whether it was there, and was the same.
func marks(now, before []*promptbuilderv1.SystemSection) map[string]string {
	old, out := digests(before), map[string]string{}
	for key, digest := range digests(now) {
		switch was, known := old[key]; {
		case !known:
			out[key] = added
		case was != digest:
			out[key] = changed
		default:
			out[key] = same
		}
	}
	return out
}

func digests(all []*promptbuilderv1.SystemSection) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		out[s.GetId()] = s.GetSha256()
		for _, p := range s.GetParts() {
			out[partKey(s, p)] = p.GetSha256()
		}
	}
	return out
}

// reasons are sentences about the first section that differs.
var reasons = map[promptbuilderv1.DiffReason]string{
	promptbuilderv1.DiffReason_DIFF_REASON_CONTENT: "it has other bytes",
	promptbuilderv1.DiffReason_DIFF_REASON_ADDED:   "it was not there before",
	promptbuilderv1.DiffReason_DIFF_REASON_REMOVED: "it is there no more",
	promptbuilderv1.DiffReason_DIFF_REASON_MOVED:   "it stood at another place",
}

// difference tells which section moved the prefix, and how much of the prompt a cache can keep.
func difference(r *promptbuilderv1.BuildSystemResponse, previous *promptbuilderv1.PreviousBuild) string {
	d, first := r.GetDiff(), r.GetDiff().GetFirstChanged()
	var b strings.Builder
	if first == nil {
		fmt.Fprintf(&b, "nothing changed: %d bytes\n", r.GetBytes())
	} else {
		at := first.GetSection()
		if first.GetPart() != "" {
			at += ", " + client.OneLine(first.GetPart())
		}
		fmt.Fprintf(&b, "first change: %s: %s\n", at, reasons[first.GetReason()])
		fmt.Fprintf(&b, "equal at the beginning: %s%d of %d bytes (%d.%d %%)\n", atLeast(d), d.GetCommonPrefixBytes(), r.GetBytes(),
			d.GetReusablePermille()/10, d.GetReusablePermille()%10)
	}
	b.WriteString(boundaryMoved(r, d))
	now := digests(r.GetSections())
	for _, s := range previous.GetSections() {
		if _, there := now[s.GetId()]; !there {
			fmt.Fprintf(&b, "gone: %s\n", s.GetId())
		}
	}
	if d.GetOtherVersion() {
		b.WriteString("! the earlier build is of another version of the builder\n")
	}
	return b.String()
}

// atLeast stands before a figure that is only a lower bound.
func atLeast(d *promptbuilderv1.SystemDiff) string {
	if d.GetExact() {
		return ""
	}
	return "at least "
}

// boundaryMoved tells whether what a cache keeps between turns is still the same.
func boundaryMoved(r *promptbuilderv1.BuildSystemResponse, d *promptbuilderv1.SystemDiff) string {
	stable := r.GetBoundaries().GetCache().GetByte()
	if d.GetFirstChanged() == nil || d.GetCommonPrefixBytes() >= stable {
		return fmt.Sprintf("the stable part (%d bytes) is as it was\n", stable)
	}
	return fmt.Sprintf("the stable part (%d bytes) changed: a server reads all behind byte %d again\n", stable, d.GetCommonPrefixBytes())
}
