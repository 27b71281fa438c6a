package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// root is the work folder of all sessions.
const root = "work"

// arguments are those of a call of a tool.
type arguments map[string]string

// call is a call of a tool that the model makes.
type call struct {
	Name string    `json:"name"`
	Args arguments `json:"args"`
}

// order is a message of a writer, and what the model does about it.
type order struct {
	// id is in the message, and in the model's answers, and nowhere else.
	id    string
	calls []call
}

// session is a session with its writer. Its calls reach no further than its own folder.
type session struct {
	number int
	random *rand.Rand
	// request makes it, name is what it is called then.
	request, name string
	// orders are all that were drawn; next is the first that was not sent.
	orders []order
	next   int
}

func newSession(n int, random *rand.Rand) *session {
	return &session{number: n, random: random, request: requestID()}
}

func (s *session) folder() string { return fmt.Sprintf("s%02d", s.number) }

// draw draws the next order. All but the last kinds change something that a second execution of one of their calls would trip over: what
// was created is moved or deleted, so that it may not be there again.
func (s *session) draw() order {
	n := len(s.orders)
	o := order{id: fmt.Sprintf("%s-%04d", s.folder(), n)}
	at := fmt.Sprintf("%s/%04d", s.folder(), n)
	text, was := o.id+" "+requestID()+"\n", ""
	if n > 0 {
		was = fmt.Sprintf("%s/%04d", s.folder(), s.random.IntN(n))
	}
	create, move := call{"create", arguments{"path": at + ".txt", "content": text}}, call{"move", arguments{"source": at + ".txt", "destination": at + ".moved.txt"}}
	switch kind := s.random.IntN(8); {
	case kind < 2:
		o.calls = []call{create, move}
	case kind == 2:
		o.calls = []call{{"write", create.Args}, move}
	case kind == 3:
		o.calls = []call{create, {"delete", arguments{"path": at + ".txt"}}}
	case kind == 4:
		o.calls = []call{create, {"write", arguments{"path": at + ".txt", "content": text + text}}, move}
	case kind == 5 && n > 0:
		o.calls = []call{create, {"move", arguments{"source": was + ".moved.txt", "destination": was + ".again.txt"}}}
	case kind == 6 && n > 0:
		o.calls = []call{{"delete", arguments{"path": was + ".moved.txt"}}, create, move}
	default:
		o.calls = []call{create}
	}
	return o
}

// How many orders of a session stand in a script: those that wait may have to be answered once more.
const (
	ordersAhead  = 20
	ordersBehind = 40
)

// asideMark is in each message that is asked aside.
const asideMark = "asked aside;"

// script writes what the model says until the next start. The newest order in a prompt counts: earlier ones are its past. Before the model
// has called it has not said so.
func (t *trial) script() error {
	type reply struct {
		Contains string `json:"contains"`
		Text     string `json:"text"`
	}
	replies := []reply{{asideMark, "It goes on."}}
	for _, s := range t.sessions {
		for len(s.orders) < s.next+ordersAhead {
			s.orders = append(s.orders, s.draw())
		}
		for _, o := range slices.Backward(s.orders[max(0, s.next-ordersBehind):]) {
			replies = append(replies, reply{"doing " + o.id + ";", answer("done "+o.id+";", "done", nil)},
				reply{"order " + o.id + ";", answer("doing "+o.id+";", "continue", o.calls)})
		}
	}
	text, err := json.Marshal(map[string]any{"window": 1 << 20, "characters_per_token": 8, "replies": replies}) // JSON is YAML
	if err != nil {
		return err
	}
	return os.WriteFile(t.file("script.yaml"), text, 0o600)
}

// answer is what a model says in a session.
func answer(why, next string, calls []call) string {
	all := map[string]any{
		"rationale": why, "goal_consistency": "yes: it is asked for", "constraint_check": "yes: nothing forbids it",
		"step": "EXECUTION", "next_step": next, "prompt_pattern": "base_main_specialized", "reply": why,
	}
	if calls != nil {
		all["actions"] = calls
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // texts always have a form
	}
	return string(text)
}
