package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// row is a row of the audit, as far as it is looked at.
type row struct {
	kind, verdict string
	details
}

type details struct {
	// Of, To and Text are those of a turn that begins: Text is its message.
	Of, To, Text string
	// Message is that of an aside.
	Message string
	// Call and Approval are those of a call.
	Call, Approval string
}

// told is what the audit of a session tells.
type told struct {
	// messages are those of turns, asides those that were answered beside.
	messages, asides map[string]bool
	// begun counts the intents by approval, executed what has happened by it.
	begun, executed map[string]int
	// files are what the calls that were executed make, one after the other.
	files map[string]string
	// unsure are the calls of which nobody knows.
	unsure map[string]bool
}

func newTold() told {
	return told{
		messages: map[string]bool{}, asides: map[string]bool{}, begun: map[string]int{}, executed: map[string]int{},
		files: map[string]string{}, unsure: map[string]bool{},
	}
}

// compareSession holds a session at rest, and its files, to what was acknowledged.
func (t *trial) compareSession(ctx context.Context, s *server, one *session) error {
	rows, err := t.rows(ctx, s, one)
	if err != nil {
		return err
	}
	is := newTold()
	for _, r := range rows {
		t.read(one, &is, r)
	}
	for _, m := range t.ledger.messages {
		if m.session == one && !is.messages[m.id] && !is.asides[m.id] {
			t.Lose("%s: message %s was acknowledged, and has no turn", one.name, m.id)
		}
	}
	for name, k := range t.ledger.approvals {
		if k.seen.GetSession() == one.name {
			t.compareCall(name, k, is)
		}
	}
	return t.compareFiles(one, is)
}

// rows are the audit of a session.
func (t *trial) rows(ctx context.Context, s *server, one *session) (all []row, err error) {
	q := &agentv1.ListAuditRecordsRequest{Session: one.name, PageSize: page}
	for {
		got, err := s.client.ListAuditRecords(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("ListAuditRecords: %w", err)
		}
		for _, r := range got.GetRecords() {
			row := row{kind: r.GetKind(), verdict: r.GetVerdict()}
			if r.GetDetails() != "" {
				if err := json.Unmarshal([]byte(r.GetDetails()), &row.details); err != nil {
					return nil, fmt.Errorf("row %d: %w", r.GetSeq(), err)
				}
			}
			if row.Approval != "" {
				row.Approval = "approvals/" + row.Approval
			}
			all = append(all, row)
		}
		if q.PageToken = got.GetNextPageToken(); q.GetPageToken() == "" {
			return all, nil
		}
	}
}

// read takes what a row tells.
func (t *trial) read(one *session, is *told, r row) {
	switch {
	case r.kind == "turn" && r.Of == "turn" && r.To == "run":
		is.messages[r.Text] = true
	case r.kind == "aside":
		is.asides[r.Message] = true
	case r.kind == "intent":
		is.begun[r.Approval]++
	case r.kind == "unknown_outcome":
		is.unsure[r.Call] = true
	case r.kind == "execute":
		is.executed[r.Approval]++
		t.apply(one, is, r.Call, parse(t.ledger.argumentsOf(r.Approval)))
	case r.kind == "outcome" && r.verdict == "HAPPENED":
		if k := t.ledger.approvals[r.Approval]; k != nil {
			t.apply(one, is, k.seen.GetCall(), t.ledger.argumentsOfCall(k.seen.GetCall()))
		}
	case r.kind == "outcome" && r.verdict == "NOT_HAPPENED":
		if k := t.ledger.approvals[r.Approval]; k != nil {
			delete(is.unsure, k.seen.GetCall())
		}
	}
}

// apply does what a call does to the files of a session.
func (t *trial) apply(one *session, is *told, id string, args arguments) {
	delete(is.unsure, id)
	path, from, text := args["path"], args["source"], args["content"]
	_, there := is.files[path]
	switch {
	case args == nil:
		t.Lose("%s: call %s is told as executed, and nobody has seen it", one.name, id)
	case from != "":
		if _, is := is.files[from]; !is {
			t.Lose("%s: call %s is told as executed, and %s was not there", one.name, id, from)
		}
		is.files[args["destination"]] = is.files[from]
		delete(is.files, from)
	case text != "":
		is.files[path] = text
	case !there:
		t.Lose("%s: call %s is told as executed, and %s was not there", one.name, id, path)
	default:
		delete(is.files, path)
	}
}

// compareCall holds what became of an approval to what was done.
func (t *trial) compareCall(name string, k *known, is told) {
	approved := k.said(agentv1.Decision_DECISION_APPROVE)
	consumed := k.seen.GetState() == agentv1.ApprovalState_APPROVAL_STATE_CONSUMED
	switch begun, executed := is.begun[name], is.executed[name]; {
	case executed > 1:
		t.Lose("%s was executed %d times", name, executed)
	case begun > 0 && !approved:
		t.Lose("%s has begun, and nobody has approved it", name)
	case begun > 0 != consumed:
		t.Lose("%s has begun %d times, and is %s", name, begun, k.seen.GetState())
	case executed > 0:
		t.Acknowledged["calls executed"]++
	}
}

// compareFiles holds the files of a session to those that its calls make.
func (t *trial) compareFiles(one *session, is told) error {
	skip := map[string]bool{}
	for id := range is.unsure {
		t.Say("%s: nobody knows whether call %s has happened, and nobody was to be asked", one.name, id)
		for _, path := range t.ledger.argumentsOfCall(id) {
			skip[path] = true
		}
	}
	got, err := t.files(one)
	if err != nil {
		return err
	}
	for path, text := range got {
		if want, there := is.files[path]; !skip[path] && (!there || want != text) {
			t.Lose("%s: %s has %q, and by what was executed %q (there: %v)", one.name, path, text, want, there)
		}
	}
	for path := range is.files {
		if _, there := got[path]; !skip[path] && !there {
			t.Lose("%s: %s is not there, and was made", one.name, path)
		}
	}
	return nil
}

// files are those of a session.
func (t *trial) files(one *session) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(t.work(), one.folder()), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a folder of ours
		name, _ := strings.CutPrefix(path, t.work()+string(filepath.Separator))
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	return all, err
}

// stagedName begins the names of what is staged for a call. A kill may leave one, which a later start takes away.
const stagedName = ".tsumugi-staged-"

// littered names something that is staged still; empty: nothing is.
func (t *trial) littered() (left string, err error) {
	err = filepath.WalkDir(t.work(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), stagedName) {
			left = path + " is staged still, and nothing works any more"
		}
		return err
	})
	return left, err
}
