// Package conversation has the turns of a session kept as nodes of a flow, so that what was said in it branches, is searched and exported
// as any other conversation (design 1: flowstore owns what was said, on which branch).
//
// flowstore may be away, and no turn waits for it: what is to be stored is written in the transaction that ends the turn (Keep), and a
// Writer stores it afterwards, and again until flowstore has acknowledged it. The ids of flows and nodes come from the session and the
// number of the turn, so that whatever is done twice is there once.
package conversation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// Exchange is a turn as it is kept: what a person said, and what they were answered.
type Exchange struct {
	User  string `json:"user"`
	Reply string `json:"reply"`
	// Made is how the last answer was made.
	Made ledger.Made `json:"made,omitzero"`
	// Finish is why the turn ended where its last answer does not say it, in a word of generation.Finish, and Error why there is no
	// whole answer, in one sentence.
	Finish string `json:"finish,omitempty"`
	Error  string `json:"error,omitempty"`
}

// sent is what stands in the outbox of a node: where its text is, and where it belongs.
type sent struct {
	Text string `json:"text"`
	// Parent is the node that it continues; empty for the first one.
	Parent string `json:"parent,omitempty"`
	// Aside: the conversation does not go on from it.
	Aside bool `json:"aside,omitempty"`
}

// NodeID is the id of the n-th node of a session, from 1: UUIDv5 of both.
func NodeID(session string, n int) uuid.UUID { return id(session, "nodes/"+strconv.Itoa(n)) }

// textDigits are the last digits of a UUID by which a prompt names a node; maxNumber bounds those of the number of a turn: more are of a UUID.
const (
	textDigits = 8
	maxNumber  = 6
)

// TextID is how a prompt names a node.
func TextID(id uuid.UUID) string {
	s := id.String()
	return s[len(s)-textDigits:]
}

// Turn is the number of the node of a session, from 1, that a text names: by its number, its UUID or its TextID, also in brackets or behind
// `conversation:` or `nodes/`. 0: none.
func Turn(s ledger.Session, text string) int {
	text = Plain(text)
	if n, err := strconv.Atoi(text); err == nil && len(text) <= maxNumber && n >= 1 && n <= s.Nodes {
		return n
	}
	for n := s.Nodes; n > 0; n-- {
		if id := NodeID(s.ID, n); text == id.String() || text == TextID(id) {
			return n
		}
	}
	return 0
}

// Plain is the name of a node without what stands around it.
func Plain(text string) string {
	text = strings.ToLower(strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), session.RefConversation), "[] "))
	return strings.TrimPrefix(text, "nodes/")
}

// FlowID is the id of the flow of a session: UUIDv5 of it.
func FlowID(session string) uuid.UUID { return id(session, "flow") }

func id(session, what string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("tsumugi:sessions/"+session+"/"+what))
}

// flowAfter is the id of the flow in which a conversation goes on whose flow a person took away.
func flowAfter(gone uuid.UUID) uuid.UUID { return uuid.NewSHA1(gone, []byte("next")) }

// Keep keeps a turn that has ended, and writes down that it is to be stored as the node behind the last one. It gives the id of the
// text that has it.
func Keep(w *ledger.Work, x Exchange) (text string, err error) {
	s := w.Session
	text, err = keep(w, x, sent{Parent: s.Last})
	s.Last = NodeID(s.ID, s.Nodes).String()
	return text, err
}

// Aside keeps a message that was answered from a snapshot while the session worked, as a node beside the conversation
// (field/review-agent.md C79). The row is the caller's.
func Aside(w *ledger.Work, x Exchange) error {
	_, err := keep(w, x, sent{Parent: w.Session.Last, Aside: true})
	return err
}

func keep(w *ledger.Work, x Exchange, o sent) (string, error) {
	s := w.Session
	if s.Flow == "" {
		s.Flow = FlowID(s.ID).String()
	}
	s.Nodes++
	o.Text = fmt.Sprintf("%08d/past", s.Nodes)
	text, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	if err := w.PutText(store.Text{Session: s.ID, ID: o.Text, Body: text}); err != nil {
		return "", err
	}
	return o.Text, w.PutOutgoing(store.Outgoing{Session: s.ID, N: int64(s.Nodes), Body: body})
}
