package turn

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// TestATurnCostsWhatTheOneBeforeDid: what is stored of a session itself does not grow with its turns, what is stored of each turn is as
// large as that of an earlier one, and so is its prompt (design 3).
func TestATurnCostsWhatTheOneBeforeDid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const turns = 100
	var sizes, rows []int
	for range turns {
		r.model.lines = []string{say("PLANNING", "continue", "actions", []any{call("list", "path", ".")}), say("PLANNING", "done", "reply", "はい。")}
		_, err := r.Converse(t.Context(), t.Context(), ns, id, r.message(owner(), "港の話を書いて"), func(_ Receipt, err error) { r.ok(err) })
		r.ok(err)
		r.ok(r.Ledger.Read(t.Context(), ns, func(v store.View) error {
			s, err := v.Session(id)
			sizes = append(sizes, len(s.Body))
			return err
		}))
		s, err := r.Ledger.Get(t.Context(), ns, id)
		r.ok(err)
		rows = append(rows, int(s.Head.Seq))
	}
	if most := sizes[20] + 32; sizes[turns-1] > most { // the numbers get longer
		t.Errorf("the session has %d bytes after turn 20, and %d at the end", sizes[20], sizes[turns-1])
	}
	if early, late := rows[20]-rows[19], rows[turns-1]-rows[turns-2]; early != late {
		t.Errorf("turn 20 has %d rows, the last one %d", early, late)
	}
	last := r.prompts.built[len(r.prompts.built)-1]
	if len(last.Past) != ledger.MaxPast || len(last.Evidence) != ledger.MaxEvidence {
		t.Errorf("the prompt has %d turns and %d results", len(last.Past), len(last.Evidence))
	}
	r.sound()
}
