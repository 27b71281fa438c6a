package audit

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Fault is what is wrong with a row, or with where it stands.
type Fault string

// The faults.
const (
	Changed      Fault = "CHANGED"       // its code does not fit its fields
	Missing      Fault = "MISSING"       // rows before it are not there
	Swapped      Fault = "SWAPPED"       // the row that belongs here stands further down
	Repeated     Fault = "REPEATED"      // it stood before
	Forked       Fault = "FORKED"        // it is genuine, and follows another row than the one before it
	Cut          Fault = "CUT"           // rows that the head knows of are not there
	OtherSession Fault = "OTHER_SESSION" // it is genuine, and of another session
	UnknownKey   Fault = "UNKNOWN_KEY"   // its key is not among the keys
	BadHead      Fault = "BAD_HEAD"      // the head was changed, is of another session, or of another chain
	Unreadable   Fault = "UNREADABLE"    // it is not a row
	// Misplaced: it is as it was made, and stored under a number or a time that is not its own.
	Misplaced Fault = "MISPLACED"
	// ChangedContent: it is as it was made, and a text or an approval that it has sealed is not.
	ChangedContent Fault = "CONTENT_CHANGED"
	// Unapproved: it is as it was made, and tells of a consent that no row before it gives.
	Unapproved Fault = "UNAPPROVED"
)

// sentences say each fault.
var sentences = map[Fault]string{
	Changed:      "its code does not fit what it says: it was changed",
	Missing:      "rows are missing before it",
	Swapped:      "it does not stand in its place; the row that belongs here comes later",
	Repeated:     "it stood before",
	Forked:       "it follows another row than the one before it",
	Cut:          "the rows end before it: they were cut off",
	OtherSession: "it is a row of another session",
	UnknownKey:   "its key is not among the keys, so nothing can be said of it",
	BadHead:      "the head does not belong to these rows",
	Unreadable:   "it cannot be read",

	Misplaced:      "it is stored under a number or a time that is not its own",
	ChangedContent: "what it wrote was changed",
	Unapproved:     "it says that a call was approved, and no row before it tells who approved that",
}

// BadRow names the first row that is not as it was made, or that should not have been.
type BadRow struct {
	// Seq is the place in the chain: the number that the row there should have.
	Seq   uint64
	Fault Fault
	// KeyID is the key of a row with the fault UNKNOWN_KEY. Found is the number of the row that stands there, 0 without one.
	KeyID string
	Found uint64
	// Err is why the row could not be read, or what of its content was changed, if that is the fault.
	Err error
}

func (e *BadRow) Error() string {
	s := fmt.Sprintf("row %d of the audit record: %s (%s)", e.Seq, sentences[e.Fault], e.Fault)
	switch {
	case e.Fault == UnknownKey:
		s += fmt.Sprintf("; key %q", e.KeyID)
	case e.Err != nil:
		s += ": " + e.Err.Error()
	case e.Found != 0 && e.Found != e.Seq:
		s += fmt.Sprintf("; row %d stands there", e.Found)
	}
	return s
}

// Unwrap gives Err.
func (e *BadRow) Unwrap() error { return e.Err }

// Report is what was verified.
type Report struct {
	// Rows is how many, Last the number of the last one.
	Rows uint64 `json:"rows"`
	Last uint64 `json:"last"`
	// Keys are how many rows each key made.
	Keys map[string]uint64 `json:"keys"`
	// HeadSeq is the row that the head vouched for: all before it are there. What is behind it is genuine but could have been
	// cut. HeadChecked is false without a head: then nothing is said of rows cut from the end.
	HeadChecked bool   `json:"head_checked"`
	HeadSeq     uint64 `json:"head_seq,omitempty"`
}

// Chain says which rows are to be verified.
type Chain struct {
	Namespace, Session string
	// After is the head behind which the rows begin, where older ones were removed; nil: they begin with row 1.
	After *Head
	// Heads are heads that were kept apart, of whatever time; without one nothing is said of rows cut from the end.
	Heads []Head
}

// Verify goes through the rows in their order and stops at the first that is not as it was made, or tells of a consent that nobody gave; it holds one row
// at a time. The error is a *BadRow. An error of rows is one with the fault UNREADABLE.
func (k *Keys) Verify(rows iter.Seq2[Row, error], c Chain) (Report, error) {
	v := verifier{keys: k, chain: c, seq: 1, prev: Start, approved: map[string]bool{}, report: Report{Keys: map[string]uint64{}}}
	if bad := v.begin(); bad != nil {
		return v.report, bad
	}
	next, stop := iter.Pull2(rows)
	defer stop()
	for r, err, ok := next(); ok; r, err, ok = next() {
		if err != nil {
			return v.report, &BadRow{Seq: v.seq, Fault: Unreadable, Err: err}
		}
		bad := v.row(r)
		if bad != nil && bad.Fault == Missing {
			bad.Fault = v.missing(next)
		}
		if bad != nil {
			return v.report, bad
		}
	}
	for _, h := range c.Heads {
		if h.Seq >= v.seq {
			return v.report, &BadRow{Seq: v.seq, Fault: Cut}
		}
		v.report.HeadChecked, v.report.HeadSeq = true, max(h.Seq, v.report.HeadSeq)
	}
	return v.report, nil
}

// verifier knows what the next row must be.
type verifier struct {
	keys  *Keys
	chain Chain
	seq   uint64
	prev  string
	// approved are the digests of approvals that somebody has approved.
	approved map[string]bool
	report   Report
}

// begin checks the heads.
func (v *verifier) begin() *BadRow {
	heads := v.chain.Heads
	if h := v.chain.After; h != nil {
		heads = append(heads[:len(heads):len(heads)], *h)
	}
	for _, h := range heads {
		key, known := v.keys.keys[h.KeyID]
		if !known {
			return &BadRow{Seq: h.Seq, Fault: UnknownKey, KeyID: h.KeyID}
		}
		if !equal(h.Seal, key.code(h.encode)) || h.Namespace != v.chain.Namespace || h.Session != v.chain.Session {
			return &BadRow{Seq: h.Seq, Fault: BadHead}
		}
	}
	if h := v.chain.After; h != nil {
		v.seq, v.prev, v.report.Last = h.Seq+1, h.MAC, h.Seq
	}
	if v.disputed(v.seq-1, v.prev) {
		return &BadRow{Seq: v.seq - 1, Fault: BadHead}
	}
	return nil
}

// disputed says that a head knows of another row in this place.
func (v *verifier) disputed(seq uint64, mac string) bool {
	return slices.ContainsFunc(v.chain.Heads, func(h Head) bool { return h.Seq == seq && !equal(h.MAC, mac) })
}

func (v *verifier) row(r Row) *BadRow {
	bad := func(f Fault) *BadRow { return &BadRow{Seq: v.seq, Fault: f, KeyID: r.KeyID, Found: r.Seq} }
	key, known := v.keys.keys[r.KeyID]
	if !known {
		return bad(UnknownKey)
	}
	switch {
	case !equal(r.MAC, key.code(r.encode)):
		return bad(Changed)
	case r.Namespace != v.chain.Namespace || r.Session != v.chain.Session:
		return bad(OtherSession)
	case r.Seq > v.seq:
		return bad(Missing)
	case r.Seq < v.seq:
		return bad(Repeated)
	case r.Prev != v.prev:
		return bad(Forked)
	case v.disputed(r.Seq, r.MAC):
		return bad(BadHead)
	case !v.consented(r):
		return bad(Unapproved)
	}
	v.seq, v.prev = r.Seq+1, r.MAC
	v.report.Rows, v.report.Last = v.report.Rows+1, r.Seq
	v.report.Keys[r.KeyID]++
	return nil
}

// consented is false for a call that began by an approval that no row tells of. Where older rows were removed nobody knows.
func (v *verifier) consented(r Row) bool {
	switch {
	case r.Kind == Approve:
		v.approved[r.Digest] = true
	case r.Kind == Intent && r.Reason == WasApproved && v.chain.After == nil:
		return v.approved[r.Digest] || r.dryRun()
	}
	return true
}

// dryRun says that whoever began a call had the digest of a dry run: the call itself is the consent (field/review-agent.md C76).
func (r Row) dryRun() bool {
	var d struct {
		Approval string `json:"approval"`
	}
	return json.Unmarshal([]byte(r.Details), &d) == nil && strings.HasPrefix(d.Approval, DryRun+"/")
}

// missing looks whether the row that belongs here comes later.
func (v *verifier) missing(next func() (Row, error, bool)) Fault {
	for r, err, ok := next(); ok && err == nil; r, err, ok = next() {
		if r.Seq == v.seq {
			return Swapped
		}
	}
	return Missing
}
