package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// edited are the details of a row that tells what a person changed of a session: names, and no values that somebody wrote.
type edited struct {
	// Fields are those that are not as they were, by their names in the contract.
	Fields []string `json:"fields"`
	// Rules are the ids of all added rules where those changed, and Budgets all budgets, but those that are 0, where those did.
	Rules   []string         `json:"added_rules,omitempty"`
	Budgets map[string]int64 `json:"budgets,omitempty"`
}

// editedBetween says what differs between a session and what became of it.
func editedBetween(was, now *Session) (e edited, err error) {
	e.Fields = session.Differ(was.Items, now.Items)
	if !slices.Equal(was.Thread.Refs, now.Thread.Refs) {
		e.Fields = append(e.Fields, "context_refs")
	}
	if was.Policy != now.Policy {
		e.Fields = append(e.Fields, "policy")
	}
	before, errBefore := json.Marshal(was.Added)
	after, errAfter := json.Marshal(now.Added)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return e, err
	}
	if len(was.Added)+len(now.Added) > 0 && !bytes.Equal(before, after) {
		e.Fields = append(e.Fields, "added_rules")
		for _, r := range now.Added {
			e.Rules = append(e.Rules, r.ID)
		}
	}
	if was.Budgets != now.Budgets {
		e.Fields, e.Budgets = append(e.Fields, "budgets"), now.Budgets.named()
	}
	return e, nil
}

// updated writes the row of a change that a person made.
func (w *Work) updated(was *Session, digest string) error {
	e, err := editedBetween(was, w.Session)
	if err != nil {
		return err
	}
	details, err := e.details()
	if err != nil {
		return err
	}
	w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: e.reason(), ArgsDigest: digest, Details: details})
	return nil
}

// reason is the row's sentence.
func (e edited) reason() string {
	if len(e.Fields) == 0 {
		return "asked for: nothing differs"
	}
	return "asked for: " + strings.Join(e.Fields, ", ")
}

// details are canonical JSON.
func (e edited) details() (string, error) {
	if len(e.Fields) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	raw, err = canon.JSON(raw)
	return string(raw), err
}

// named are the budgets that are not 0, by their names in the contract, and in its units.
func (b Budgets) named() map[string]int64 {
	all := map[string]int64{
		"message_model_calls": int64(b.MessageModelCalls), "message_tool_calls": int64(b.MessageToolCalls), "message_seconds": int64(b.MessageTime / time.Second),
		"session_model_calls": int64(b.SessionModelCalls), "session_tool_calls": int64(b.SessionToolCalls), "session_bytes_written": b.SessionBytes,
	}
	for name, n := range all {
		if n == 0 {
			delete(all, name)
		}
	}
	return all
}
