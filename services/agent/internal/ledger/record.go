package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// record is the body of a change in the store: its rows, what changed, and the hashes of what it wrote beside the session; the last row seals both.
// They are one, since each thing in the store costs more than its bytes.
type record struct {
	Rows  []audit.Row     `json:"rows"`
	Delta json.RawMessage `json:"delta"`
	// Kept is a list of kept; absent: nothing was written.
	Kept json.RawMessage `json:"kept,omitempty"`

	// under is the number and the time by which it is found.
	under store.Record
}

// Where the details of the last row of a change have the hashes of what changed, and of what was written.
const (
	deltaKey = "delta"
	keptKey  = "kept"
)

// kept is a text or an approval that a change wrote, or something that it left to be told.
type kept struct {
	// Text or Approval is its id, Outgoing its number.
	Text     string     `json:"text,omitempty"`
	Approval string     `json:"approval,omitempty"`
	Outgoing int64      `json:"outgoing,omitempty"`
	Hash     canon.Hash `json:"hash"`
	// Until is when it may go; the zero time: with the session.
	Until time.Time `json:"until,omitzero"`
}

func keptText(t store.Text) kept { return kept{Text: t.ID, Hash: canon.Sum(t.Body), Until: t.Until} }

func keptApproval(a store.Approval) kept { return kept{Approval: a.ID, Hash: canon.Sum(a.Body)} }

func keptOutgoing(o store.Outgoing) kept { return kept{Outgoing: o.N, Hash: canon.Sum(o.Body)} }

// name says what it is, whatever stands there.
func (k kept) name() kept { return kept{Text: k.Text, Approval: k.Approval, Outgoing: k.Outgoing} }

// same says that it is the same thing, whatever stands there.
func (k kept) same(other kept) bool { return k.name() == other.name() }

func (k kept) String() string {
	switch {
	case k.Approval != "":
		return "the approval " + k.Approval
	case k.Outgoing != 0:
		return fmt.Sprintf("node %d, which is still to be put into the flow,", k.Outgoing)
	}
	return "the text " + k.Text
}

// seal has the last row vouch for what the change wrote; what it wrote before under the same id is no more.
func (w *Work) seal(k kept) {
	w.kept = append(slices.DeleteFunc(w.kept, k.same), k)
}

// rows puts the rows behind the last one. The last of them seals what changed and what was written.
func (w *Work) rows(changed []byte) (err error) {
	if len(w.entries) == 0 {
		return fmt.Errorf("a change of session %s has no row", w.Session.ID)
	}
	r := record{Delta: changed}
	if len(w.kept) > 0 {
		if r.Kept, err = json.Marshal(w.kept); err != nil {
			return err
		}
	}
	last := len(w.entries) - 1
	if w.entries[last].Details, err = r.seal(w.entries[last].Details); err != nil {
		return err
	}
	after := w.Session.Head.Seq
	if r.Rows, w.Session.Head, err = w.ledger.keys.Extend(w.Session.Head, w.entries...); err != nil {
		return err
	}
	all := []member{{[]byte("rows"), audit.JSON(r.Rows)}, {[]byte("delta"), r.Delta}} // r, of which the rest is JSON already
	if len(r.Kept) > 0 {
		all = append(all, member{[]byte("kept"), r.Kept})
	}
	body, head := object(all), w.Session.Head
	return w.AddRecord(w.Session.ID, int64(after), store.Record{Seq: int64(head.Seq), Time: head.Time, Body: body})
}

// seals are the hashes by which the last row vouches for the rest of its record, by their keys, sorted.
func (r record) seals() []member {
	quoted := func(raw []byte) []byte { return []byte(`"` + canon.Sum(raw) + `"`) }
	all := []member{{[]byte(deltaKey), quoted(r.Delta)}}
	if len(r.Kept) > 0 {
		all = append(all, member{[]byte(keptKey), quoted(r.Kept)})
	}
	return all
}

// seal puts the seals into the details of a row, so that the code of the row goes over them, and gives them in canonical form.
func (r record) seal(details string) (string, error) {
	all, err := members(make([]member, 0, most), []byte(cmp.Or(details, "{}")))
	if err != nil || !plain(all) {
		return r.resealed(details)
	}
	for _, hash := range r.seals() {
		at, there := slices.BinarySearchFunc(all, hash.key, func(m member, key []byte) int { return bytes.Compare(m.key, key) })
		if there {
			all[at] = hash
		} else {
			all = slices.Insert(all, at, hash)
		}
	}
	return string(object(all)), nil
}

// plain says that an object is in canonical form because it is as simple as most rows are: names of a-z and _ in order, and texts
// without escapes.
func plain(all []member) bool {
	for i, m := range all {
		named := len(bytes.Trim(m.key, "abcdefghijklmnopqrstuvwxyz_")) == 0
		if !named || m.value[0] != '"' || bytes.IndexByte(m.value, '\\') >= 0 || i > 0 && bytes.Compare(all[i-1].key, m.key) >= 0 {
			return false
		}
	}
	return true
}

// resealed is seal for any details.
func (r record) resealed(details string) (string, error) {
	all := map[string]json.RawMessage{}
	if details != "" {
		if err := json.Unmarshal([]byte(details), &all); err != nil {
			return "", err
		}
	}
	for _, hash := range r.seals() {
		all[string(hash.key)] = hash.value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	out, err := canon.JSON(raw)
	return string(out), err
}

// sealed checks that what a record changed and wrote is what its last row was made over.
func (r record) sealed() error {
	last := r.last()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(last.Details), &all); err != nil {
		return err
	}
	want := map[string][]byte{}
	for _, hash := range r.seals() {
		want[string(hash.key)] = hash.value
	}
	for _, key := range []string{deltaKey, keptKey} {
		if !bytes.Equal(all[key], want[key]) {
			return fmt.Errorf("what row %d changed or wrote (%s) is not what it sealed", last.Seq, key)
		}
	}
	return nil
}

// last is the last row, which seals the record.
func (r record) last() audit.Row { return r.Rows[len(r.Rows)-1] }

// bad says what is wrong with a record beside its rows; nil: nothing is.
func (r record) bad() *audit.BadRow {
	last := r.last()
	if err := r.sealed(); err != nil {
		return &audit.BadRow{Seq: last.Seq, Fault: audit.Changed, Err: err}
	}
	if is := uint64(r.under.Seq); is != last.Seq || moment(r.under.Time) != moment(last.Time) { //nolint:gosec // one below 0 is no number of a row
		return &audit.BadRow{Seq: last.Seq, Fault: audit.Misplaced, Err: fmt.Errorf("it is stored as row %d of %s", is, moment(r.under.Time))}
	}
	return nil
}

// recordOf reads a record of a session, which has at least one row; first is the number that its first row should have. *BrokenError.
func recordOf(id string, first int64, p store.Record) (r record, err error) {
	if err = json.Unmarshal(p.Body, &r); err == nil && len(r.Rows) == 0 {
		err = errors.New("it has no rows")
	}
	if err != nil {
		return record{}, &BrokenError{Session: id, First: first, Last: p.Seq, Err: err}
	}
	r.under = store.Record{Seq: p.Seq, Time: p.Time}
	return r, nil
}
