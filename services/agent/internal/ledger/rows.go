package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// entry is the row of a note about the session itself.
func (w *Work) entry(n session.Note) audit.Entry {
	e := audit.Entry{Kind: audit.Transition, Verdict: verdict(n), Reason: reason(n), Details: w.details(n)}
	switch n.Of {
	case session.OfTurn:
		e.Kind, e.Turn = audit.Turn, n.ID
	case session.OfQueue, session.OfQuestion:
		e.Kind = audit.Turn
	case session.OfCancel:
		e.Kind = audit.Cancel
	case session.OfRefusal:
		e.Kind, e.ArgsDigest = audit.Refusal, string(w.Asked)
		if w.Asked == "" {
			e.ArgsDigest = string(canon.Sum([]byte(e.Details)))
		}
	}
	return w.complete(e)
}

func verdict(n session.Note) string {
	switch {
	case n.Of == session.OfRefusal:
		return "REFUSED"
	case n.Of == session.OfTurn && n.To == "":
		return "STOPPED"
	case n.Of == session.OfTurn:
		return map[string]string{"run": "RUNS", "wait": "WAITS", "park": "PARKED", "stopping": "STOPPING", session.ToAnswered: "ANSWERED", session.ToPickedUp: "PICKED_UP"}[n.To]
	}
	return n.To
}

// reason is why, in a word or a sentence; every row has one.
func reason(n session.Note) string {
	switch {
	case n.Reason != "":
		return string(n.Reason)
	case n.Trigger != "":
		return string(n.Trigger)
	}
	return string(n.Of)
}

// Details are what a row about the session itself says beside its fields: the note.
type Details struct {
	session.Note
	// Answer is the id of the text of an answer, Read what was done to read it.
	Answer string   `json:"answer,omitempty"`
	Read   []string `json:"read,omitempty"`
}

func (w *Work) details(n session.Note) string {
	d := Details{Note: n}
	if n.Of == session.OfTurn && n.To == session.ToAnswered {
		d.Answer, d.Read = w.Answer, w.Read
	}
	return d.canonical()
}

// canonical is the canonical JSON of details (canon.JSON); empty where they are too large for one: the row stands without it.
func (d *Details) canonical() string {
	b := append(make([]byte, 0, 256), '{')
	b = appendTexts(b, "allowed", d.Allowed)
	for _, f := range [...]struct{ name, value string }{
		{"answer", d.Answer}, {"from", d.From}, {"id", d.ID}, {"of", string(d.Of)}, {"read", ""}, {"reason", string(d.Reason)}, {"text", d.Text}, {"to", d.To},
		{"trigger", string(d.Trigger)},
	} {
		switch {
		case f.name == "read":
			b = appendTexts(b, f.name, d.Read)
		case f.value != "" || f.name == "of":
			b = canon.AppendText(appendName(b, f.name), f.value)
		}
	}
	if b = append(b, '}'); len(b) > canon.MaxBytes {
		return ""
	}
	return string(b)
}

// appendName appends the name of a member to an object that is open.
func appendName(b []byte, name string) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), `":`...)
}

// appendTexts appends a member that is a list of texts; nothing where it has none.
func appendTexts[T ~string](b []byte, name string, all []T) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(appendName(b, name), '[')
	for i, text := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendText(b, string(text))
	}
	return append(b, ']')
}

// owed says of which call no row tells.
func (w *Work) owed() error {
	for id, c := range w.told {
		if !w.tells(id, c) {
			return fmt.Errorf("call %s of session %s changed, and no row tells it", id, w.Session.ID)
		}
	}
	return nil
}

// tells says whether a row tells of a call.
func (w *Work) tells(id string, c session.Call) bool {
	hash := w.Session.Calls[id].Hash
	return slices.ContainsFunc(w.entries, func(e audit.Entry) bool {
		return e.CallHash != "" && e.CallHash == hash || e.Digest != "" && e.Digest == c.Digest
	})
}

// closed writes the rows of calls that the end of their work has closed, such as a cancel, and of which no approval tells: one that was allowed and had
// not begun is void, one that had begun is not known.
func (w *Work) closed() error {
	for _, id := range slices.Sorted(maps.Keys(w.told)) {
		c, hash := w.calls[id], w.Session.Calls[id].Hash
		if hash == "" || w.tells(id, w.told[id]) || c.Progress != session.Voided && c.Progress != session.Unknown {
			continue
		}
		details, err := json.Marshal(struct {
			Call string `json:"call"`
			Tool string `json:"tool"`
		}{id, w.Session.Calls[id].Tool})
		if err != nil {
			return err
		}
		e := audit.Entry{Kind: audit.Void, Verdict: string(c.Reason), Reason: "the call had not begun", CallHash: hash, ArgsDigest: hash, Details: string(details)}
		if c.Progress == session.Unknown {
			e.Kind, e.Verdict, e.Reason = audit.UnknownOutcome, string(session.Unknown), string(c.Reason)
		}
		w.Row(e)
	}
	return nil
}
