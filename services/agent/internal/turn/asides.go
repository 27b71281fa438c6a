package turn

import (
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
)

// asides counts what is answered aside, by session.
type asides struct {
	mu  sync.Mutex
	now map[string]*asked
}

// asked are the messages of one session that are being answered aside, and their calls of the model by the turn to which they will be charged.
type asked struct {
	messages int
	calls    map[string]int
}

// begin says how many others there are, and whether one more may be.
func (a *asides) begin(place string) (others int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		a.now = map[string]*asked{}
	}
	of := a.now[place]
	if of == nil {
		of = &asked{calls: map[string]int{}}
		a.now[place] = of
	}
	if others = of.messages; others >= MaxAsides {
		return others, false
	}
	of.messages++
	return others, true
}

func (a *asides) end(place string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now[place].messages--; a.now[place].messages == 0 {
		delete(a.now, place)
	}
}

// call counts a call of the model, of which all is ready, between begin and end, until the function that it gives is called, and says how many others
// there are.
func (a *asides) call(place, turn string) (others int, ends func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.now[place].calls
	for _, n := range calls {
		others += n
	}
	calls[turn]++
	return others, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		calls[turn]--
	}
}

// counted is a session with the calls of the model that are made aside just now, as they will be charged: its turn does not spend what they do, and has
// its own last call, to which none of them is charged (session.AnsweredAside).
func (a *asides) counted(ns string, s ledger.Session) ledger.Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.now[ns+"/"+s.ID]
	if of == nil {
		return s
	}
	for turn, n := range of.calls {
		s.Spent.ModelCalls += n
		if turn != "" && turn == s.State.Turn.ID {
			n = min(n, max(s.State.Turn.ModelCalls-1, 0))
			s.State.Spent += n
			s.State.Turn.ModelCalls -= n
		}
	}
	return s
}
