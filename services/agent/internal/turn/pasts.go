package turn

import (
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/recent"
)

// maxPasts bounds what is held of earlier turns, in bytes of a generation (recent.Cache).
const maxPasts = 4 << 20

// pasts holds earlier turns, which each prompt of a session tells again. The text of one is written once, with the turn that it ends, and
// goes with its session: what a session names is what is held.
type pasts struct {
	recent.Cache[pastTurn, Exchange]
}

// pastTurn names a turn: another session of the same id was made at another time.
type pastTurn struct {
	ns, session string
	created     time.Time
	text        string
}

func newPasts() *pasts { return &pasts{recent.Cache[pastTurn, Exchange]{Max: maxPasts}} }

func (p *pasts) put(name pastTurn, x Exchange) {
	p.Put(name, x, len(x.User)+len(x.Reply)+len(name.ns)+len(name.session)+len(name.text))
}

// putThen holds a turn when the change that ends it is durable. What is not UTF-8 in it is another text when it is read.
func (p *pasts) putThen(w *ledger.Work, text string, x conversation.Exchange) {
	if !utf8.ValidString(x.User) || !utf8.ValidString(x.Reply) {
		return
	}
	name := pastTurn{w.Namespace(), w.Session.ID, w.Session.Created, text}
	w.Then(func() { p.put(name, Exchange{User: x.User, Reply: x.Reply}) })
}

// exchange reads an earlier turn of a session.
func (r reader) exchange(s ledger.Session, text string) (x Exchange, err error) {
	name := pastTurn{r.ns, s.ID, s.Created, text}
	if x, ok := r.pasts.Get(name); ok {
		return x, nil
	}
	if err = r.json(text, &x); err == nil {
		r.pasts.put(name, x)
	}
	return x, err
}
