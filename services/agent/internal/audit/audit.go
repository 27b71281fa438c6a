// Package audit makes the record of a session that can be checked: a chain of rows, each with a code over all of its fields and
// the code of the row before it (HMAC-SHA256), so that a row that is changed, taken away, moved or put in from another session
// is found and named by whoever has the key. Rows cut from the end are found by a head that is kept apart from them.
//
// A row says who did what, with which verdict and why, and the hashes of what it was about; never the content itself
// (field/review-agent.md S22). A row whose fields are empty where they must not be is not made at all: a chain over empty
// hashes proves nothing (cases/agent.md c23).
package audit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a row.
const (
	// MaxText is the length of each text of a row but its details, in bytes.
	MaxText = 4 << 10
	// MaxDetails is the length of its details, in bytes: 64 KiB.
	MaxDetails = 64 << 10
)

// ActorKind is what somebody is.
type ActorKind string

// The kinds of actors. A Person is named as the interceptor for authentication has verified it (field/review-agent.md S10).
const (
	Person ActorKind = "person"
	Model  ActorKind = "model"
	Policy ActorKind = "policy"
	System ActorKind = "system"
	Tool   ActorKind = "tool"
)

// Actor is who did what a row tells.
type Actor struct {
	Name string    `json:"name"`
	Kind ActorKind `json:"kind"`
}

// Kind is what a row tells.
type Kind string

// The kinds of rows.
const (
	Create     Kind = "create" // of a session
	Update     Kind = "update" // of the five items or the policy, by a person
	Delete     Kind = "delete"
	Turn       Kind = "turn"       // one begins, stops, parks or is taken over
	Transition Kind = "transition" // of the step, the status or the lifecycle
	Refusal    Kind = "refusal"    // of a transition, a request or a model's answer
	Aside      Kind = "aside"      // a message answered from a snapshot
	Submit     Kind = "submit"     // a client gave the result of its tool
	Fatal      Kind = "fatal"

	Allow      Kind = "allow" // by policy or a standing rule
	Deny       Kind = "deny"  // by policy or a person
	Ask        Kind = "ask"   // an approval is raised
	Approve    Kind = "approve"
	LateDenial Kind = "late_denial" // of what had expired
	Edit       Kind = "edit"        // of arguments
	Extend     Kind = "extend"
	Expiry     Kind = "expiry"
	Supersede  Kind = "supersede"
	Cancel     Kind = "cancel" // of an approval, a turn or a session
	Void       Kind = "void"   // an approved call will never run
	Rule       Kind = "rule"   // a standing rule is written, used or taken back

	Intent         Kind = "intent"
	Execute        Kind = "execute"
	Failure        Kind = "failure"
	UnknownOutcome Kind = "unknown_outcome"
	Outcome        Kind = "outcome" // a person, or a proof, says what happened
)

// WasApproved is the reason of an INTENT by an approval: a row before it has the kind APPROVE and the same digest. Only that of a dry run, whose approval
// begins with DryRun and a slash, has none.
const (
	WasApproved = "it was approved"
	DryRun      = "dry-run"
)

// need is what a row of a kind cannot be without, beyond what no row can be without.
type need byte

const (
	// args is the hash of what was asked for: a call's arguments, a request, a model's answer.
	args need = 1 << iota
	// named is at least one of the two hashes that say what was decided: that of a call, or that of an approval.
	named
	// called is the hash of a call.
	called
)

// needs are those of each kind. What is decided or refused names what it is about, and what touches the world names the call.
var needs = map[Kind]need{
	Create: 0, Update: args, Delete: 0, Turn: 0, Transition: 0, Refusal: args, Aside: args, Submit: args | called, Fatal: 0,
	Allow: args | called, Deny: args | named, Ask: args | named, Approve: args | named, LateDenial: args | named, Edit: args | called,
	Extend: args | named, Expiry: args | named, Supersede: args | named, Cancel: 0, Void: args | named, Rule: named,
	Intent: args | called, Execute: args | called, Failure: args | called, UnknownOutcome: args | called, Outcome: args | called,
}

// Absent in Before or After says that there is nothing.
const Absent = "absent"

// Entry is what a row tells. Hashes are SHA-256 in 64 hexadecimal digits of lower case, or empty where the kind allows it.
type Entry struct {
	// Time is by the server's clock, and never before that of the row before (field/review-agent.md S16).
	Time      time.Time `json:"time"`
	Namespace string    `json:"namespace"`
	Session   string    `json:"session"`
	// Task and Turn may be empty: not everything happens in one.
	Task  string `json:"task,omitempty"`
	Turn  string `json:"turn,omitempty"`
	Actor Actor  `json:"actor"`
	Kind  Kind   `json:"kind"`
	// Verdict is one word of capital letters and underscores, Reason says why in a code or a sentence.
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	// CallHash says which call, Digest which approval (both field/review-agent.md S5), ArgsDigest what was asked for.
	CallHash   string `json:"call_hash,omitempty"`
	Digest     string `json:"digest,omitempty"`
	ArgsDigest string `json:"args_digest,omitempty"`
	// Before and After are the hashes of a call's target, or Absent; empty where there is no such target.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Details are an object of JSON in canonical form (no blanks), or empty. They are a text in JSON too: encoding/json writes raw
	// JSON anew, and the code goes over the bytes.
	Details string `json:"details,omitempty"`
}

// Row is an entry in its place in the chain of its session.
type Row struct {
	// Seq counts the rows of a session from 1, without gaps.
	Seq uint64 `json:"seq"`
	Entry
	// KeyID names the key of MAC. Prev is the MAC of the row before it, of the first row Start. Both codes are in hexadecimal.
	KeyID string `json:"key_id"`
	Prev  string `json:"prev"`
	MAC   string `json:"mac"`
}

// EntryError says why a row is not made: every field that is wrong.
type EntryError struct{ Problems []string }

func (e *EntryError) Error() string {
	return "this row of the audit record cannot be made: " + strings.Join(e.Problems, "; ")
}

// check gives all that is wrong with an entry.
func (e *Entry) check() error {
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, t := range e.texts() {
		switch {
		case t.value == "" && t.needed:
			say("%s is empty", t.name)
		case len(t.value) > t.limit:
			say("%s has %d bytes; at most %d are allowed", t.name, len(t.value), t.limit)
		case !utf8.ValidString(t.value):
			say("%s is no valid UTF-8", t.name)
		case t.hash && t.value != "" && !isHash(t.value) && t.value != t.special:
			say("%s is not a SHA-256 in 64 hexadecimal digits", t.name)
		}
	}
	need, known := needs[e.Kind]
	if !known && e.Kind != "" {
		say("there is no kind %q", e.Kind)
	}
	if need&named != 0 && e.CallHash == "" && e.Digest == "" {
		say("call_hash and digest are both empty; a row of the kind %s needs one of them", e.Kind)
	}
	if !slices.Contains([]ActorKind{"", Person, Model, Policy, System, Tool}, e.Actor.Kind) {
		say("there is no actor.kind %q", e.Actor.Kind)
	}
	if strings.Trim(e.Verdict, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		say("verdict is %q; it must be one word of A-Z and _", e.Verdict)
	}
	if e.Time.IsZero() || e.Time.Year() < 1970 || e.Time.Year() > 2261 {
		say("time is %v; it must be of 1970 to 2261", e.Time)
	}
	if e.Details != "" && !canonical(e.Details) {
		say("details are not an object of JSON without blanks")
	}
	if problems != nil {
		return &EntryError{problems}
	}
	return nil
}

// field is a text of an entry, and what is asked of it.
type field struct {
	name, value string
	needed      bool
	limit       int
	hash        bool
	// special is what it may be beside a hash.
	special string
}

// texts are the texts of an entry in a fixed order. The code of a row goes over exactly these, its time and its place.
func (e *Entry) texts() [15]field {
	need := needs[e.Kind]
	return [15]field{
		{name: "namespace", value: e.Namespace, needed: true, limit: MaxText},
		{name: "session", value: e.Session, needed: true, limit: MaxText},
		{name: "task", value: e.Task, limit: MaxText},
		{name: "turn", value: e.Turn, limit: MaxText},
		{name: "actor.name", value: e.Actor.Name, needed: true, limit: MaxText},
		{name: "actor.kind", value: string(e.Actor.Kind), needed: true, limit: MaxText},
		{name: "kind", value: string(e.Kind), needed: true, limit: MaxText},
		{name: "verdict", value: e.Verdict, needed: true, limit: MaxText},
		{name: "reason", value: e.Reason, needed: true, limit: MaxText},
		{name: "call_hash", value: e.CallHash, needed: need&called != 0, limit: MaxText, hash: true},
		{name: "digest", value: e.Digest, limit: MaxText, hash: true},
		{name: "args_digest", value: e.ArgsDigest, needed: need&args != 0, limit: MaxText, hash: true},
		{name: "before", value: e.Before, limit: MaxText, hash: true, special: Absent},
		{name: "after", value: e.After, limit: MaxText, hash: true, special: Absent},
		{name: "details", value: e.Details, limit: MaxDetails},
	}
}

// isHash says so of 64 hexadecimal digits in lower case.
func isHash(s string) bool {
	return len(s) == hex.EncodedLen(32) && strings.Trim(s, "0123456789abcdef") == ""
}

// canonical says that a text is an object of JSON as it is stored and exported: without blanks.
func canonical(text string) bool {
	raw := []byte(text)
	b := bytes.NewBuffer(make([]byte, 0, len(raw)))
	return text[0] == '{' && json.Compact(b, raw) == nil && bytes.Equal(b.Bytes(), raw)
}
