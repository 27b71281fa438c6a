package generation

import (
	"context"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// generation is one generation: the log of what the model said, who watches it, and how it ended.
type generation struct {
	ns      string
	id      uuid.UUID
	asked   asked
	flow    uuid.UUID
	digest  string
	started time.Time
	// lasting: it runs on when its last watcher has gone.
	lasting bool
	// expiry lets go of it after a while, and bytes is what it then gives back. Both are the Service's.
	expiry *time.Timer
	bytes  int

	mu sync.Mutex
	// cancel ends it; the cause is a *CutError. After the end it does nothing.
	cancel context.CancelCauseFunc
	// changed is closed when there is news; nil while nobody waits.
	changed chan struct{}
	opened  *Opened
	// text is the answer so far; ends[i] is where piece i+1 ends in it. Both only grow.
	text []byte
	ends []int
	// details are the pieces, by their numbers, that are no text: empty ones.
	details    map[int]Detail
	characters int
	watchers   int
	// cut is why it is about to end; nil while nothing cut it.
	cut *CutError
	end *ending
	// reopened: it had ended before, and is stored once more.
	reopened bool
}

// ending is how a generation ended.
type ending struct {
	at time.Time
	// finish is empty where the model was not reached.
	finish Finish
	// node is stored; nil where none is. replayed: it was there already, and opened is what is known of its beginning.
	node     *Node
	cache    *Cache
	replayed bool
	opened   *Opened
	// cut is why a node that was there already is not whole; nil where it is. It follows the Stored.
	cut *CutError
	// err is what the watchers are told; nil when the answer is whole and stored.
	err error
	// unstored is the answer that has no node yet.
	unstored *answer
}

// leftNothing says that it ended without an answer. False for nil.
func (e *ending) leftNothing() bool { return e != nil && e.node == nil && e.unstored == nil }

// open says that it ended and its request is not answered: there is no node, or only one of what came before it was cut. False for nil.
func (e *ending) open() bool {
	return e != nil && (e.node == nil || !e.node.Record.Finish.final())
}

// answer is a finished answer on its way into the store.
type answer struct {
	addition Addition
	cache    *Cache
	// cut is why it is not whole; nil when it is.
	cut *CutError
}

// wake tells those who wait. The caller holds mu.
func (g *generation) wake() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// news is closed at the next change. The caller holds mu.
func (g *generation) news() <-chan struct{} {
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed
}

func (g *generation) open(o Opened) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = &o
	g.wake()
}

// append takes a piece of the answer, as several where it is a large one. It is false, and the piece is not taken, when
// the answer would be too long.
func (g *generation) append(piece string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.text)+len(piece) > maxAnswer {
		return false
	}
	g.characters += utf8.RuneCountInString(piece)
	for piece != "" {
		n := headLen(piece)
		g.text = append(g.text, piece[:n]...)
		g.ends = append(g.ends, len(g.text))
		piece = piece[n:]
	}
	g.wake()
	return true
}

// tell takes what a model was told that asked for a node.
func (g *generation) tell(d Detail) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ends = append(g.ends, len(g.text))
	if g.details == nil {
		g.details = map[int]Detail{}
	}
	d.ID = len(g.ends)
	g.details[d.ID] = d
	g.wake()
}

// headLen is how much of a text one Text may hold: whole characters, or what is no character.
func headLen(text string) int {
	if len(text) <= maxPiece {
		return len(text)
	}
	for n := maxPiece; n > maxPiece-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return maxPiece
}

func (g *generation) finish(e ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end = &e
	if e.opened != nil {
		g.opened = e.opened
	}
	g.wake()
}

// stop ends it for the given cause, unless it has ended.
func (g *generation) stop(cause *CutError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cutFor(cause)
}

// cutFor is stop. The caller holds mu.
func (g *generation) cutFor(cause *CutError) {
	if g.cut == nil && g.end == nil {
		g.cut = cause
	}
	g.cancel(cause)
}

// awaitCut waits for the end of a generation that is about to end without answering its request, so that the request
// begins anew and is not told of an end that came before it. The context's error.
func (g *generation) awaitCut(ctx context.Context) error {
	g.mu.Lock()
	ending := g.cut != nil && !g.cut.Finish.final()
	g.mu.Unlock()
	if !ending {
		return nil
	}
	return g.wait(ctx)
}

// reopen takes the end back, since the answer is to be stored once more, and gives that answer.
func (g *generation) reopen(cancel context.CancelCauseFunc) *answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.end.unstored
	g.end, g.cancel, g.cut, g.reopened = nil, cancel, nil, true
	return a
}

func (g *generation) hasOpened() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened != nil
}

// answerText is the text received so far.
func (g *generation) answerText() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return string(g.text)
}

// ended is how it ended; nil while it runs.
func (g *generation) ended() *ending {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.end
}

// wait returns when it has ended, or with the context's error.
func (g *generation) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.end != nil {
			g.mu.Unlock()
			return nil
		}
		news := g.news()
		g.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lastEvent is the number of the last event, with the given end. The caller holds mu.
func (g *generation) lastEvent(end *ending) int {
	if end != nil && end.err == nil {
		return len(g.ends) + 1
	}
	return len(g.ends)
}

// joined says how far, from after and at most to upto, the pieces can be joined into one Text. Behind after stands one. The caller
// holds mu.
func (g *generation) joined(after, upto int) int {
	for id := range g.details {
		if id > after {
			upto = min(upto, id-1)
		}
	}
	fit, _ := slices.BinarySearch(g.ends[after:upto], g.begin(after)+maxPiece+1)
	return after + max(fit, 1)
}

// begin is where the piece behind after begins. The caller holds mu.
func (g *generation) begin(after int) int {
	if after == 0 {
		return 0
	}
	return g.ends[after-1]
}

// piece is the text of the events from after+1 to upto. The caller holds mu.
func (g *generation) piece(after, upto int) string {
	return string(g.text[g.begin(after):g.ends[upto-1]])
}
