package turn

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// MaxSnapshot bounds a snapshot, in bytes: what a store takes, and room for more.
const MaxSnapshot = 6 << 20

// snapshotText is the id of the text that has the snapshot of a session.
const snapshotText = "snapshot"

// Built is a prompt.
type Built struct {
	Text string
	// Snapshot are the files and skills as they were read for it, where Prompt.Snapshot was empty, at most MaxSnapshot: later prompts of
	// the session are made of them, so that an edit does not move what a model server remembers (field/systemprompt-rules.md 1.3). Empty:
	// there are none.
	Snapshot []byte
	// Zone is the time zone that it names, of the IANA database, and Hours "12" or "24", the form of time; empty where it names none.
	Zone, Hours string
	// Notices are what a person should know of it that did not stop it.
	Notices []string
}

// keep writes what the session keeps of a prompt.
func (b Built) keep(w *ledger.Work) error {
	w.Session.Zone, w.Session.Hours = b.Zone, b.Hours
	for _, text := range b.Notices {
		w.Session.Notice(text)
	}
	if len(b.Snapshot) == 0 {
		return nil
	}
	w.Session.Talk.Snapshot = true
	return put(w, snapshotText, b.Snapshot)
}

// madeBy is how an answer was made.
func madeBy(who llm.Identity, q llm.Request, r llm.Result) ledger.Made {
	return ledger.Made{
		Backend: who, Prompt: digest(q), MaxTokens: q.Sampling.MaxTokens, PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens,
		AnswerTokens: r.AnswerTokens, PromptTime: r.PromptTime, AnswerTime: r.AnswerTime, Finish: string(r.Finish),
	}
}

// digest is the SHA-256, in hex, of what a model was sent: role 00 content 00 of each message, id 00 name 00 arguments 00 of each call in
// it, and the schema of its answer.
func digest(q llm.Request) string {
	sum := sha256.New()
	room := make([]byte, 1024) // A hash takes bytes, and everything.
	text := func(text string) {
		for len(text) > 0 {
			n := copy(room, text)
			_, _ = sum.Write(room[:n])
			text = text[n:]
		}
	}
	write := func(all ...string) {
		for _, one := range all {
			text(one)
			text("\x00")
		}
	}
	for _, m := range q.Messages {
		write(string(m.Role), m.Content)
		for _, c := range m.Calls {
			write(c.ID, c.Name, c.Arguments)
		}
	}
	text(q.Schema)
	return hex.EncodeToString(sum.Sum(nil))
}
