package ledger

import (
	"encoding/json"
	"slices"
	"strings"

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
func editedBetween(was, now *Session) (e edited) {
	e.Fields = session.Differ(was.Items, now.Items)
	if !slices.Equal(was.Thread.All(), now.Thread.All()) {
		e.Fields = append(e.Fields, "context_refs")
	}
	if was.Policy != now.Policy {
		e.Fields = append(e.Fields, "policy")
	}
	if !slices.Equal(was.Added, now.Added) {
		e.Fields = append(e.Fields, "added_rules")
		for _, r := range now.Added {
			e.Rules = append(e.Rules, r.ID)
		}
	}
	if was.Budgets != now.Budgets {
		e.Fields, e.Budgets = append(e.Fields, "budgets"), now.Budgets.named()
	}
	return e
}

// updated writes the row of a change that a person made.
func (w *Work) updated(was *Session, digest string) error {
	e := editedBetween(was, w.Session)
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

// named are the budgets that are not 0, by their names in the contract.
func (b Budgets) named() map[string]int64 {
	all := map[string]int64{}
	for _, one := range b.All() {
		if one.Value != 0 {
			all[one.Name] = one.Value
		}
	}
	return all
}
