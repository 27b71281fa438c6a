package write

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// round is one request and what came of it, however often it was sent.
type round struct {
	shape   shape
	request *agentv1.GenerateNodeRequest
	answers []*answer
	// total is how many answers the request asks for, once one is opened.
	total int
	// stopping: the writer wants no more of it.
	stopping bool
	// err is why not all of it is whole.
	err error
}

// answer is one answer as far as it has come.
type answer struct {
	// opened is what was asked for it; nil before it is.
	opened *agentv1.Opened
	text   string
	// node holds the text; empty where nothing is known to be stored. whole: the answer has its end. cancelled: somebody
	// ended it on purpose. Any other answer is made anew when the request is sent again.
	node                    string
	whole, cancelled, ended bool
	// known: its node was there before the request was sent again. broke: some of it was shown, of which nothing is stored.
	known, broke bool
	// halves are how many nodes keep what came of it before it was cut and made anew; tries how often it was opened before,
	// and nobody told what that cost.
	halves, tries int
	// cost is what the end of the answer told of the prompt; nil where that never came.
	cost *cost
	// tail is what to say behind it.
	tail string
}

// final says that the same request is answered with what is there.
func (a *answer) final() bool { return a.node != "" && (a.whole || a.cancelled) }

// resume makes a round ready to be sent again: what is final stays.
func (r *round) resume() {
	for i, a := range r.answers {
		if a.final() {
			a.known, a.ended = true, true
			continue
		}
		next := &answer{broke: a.unstored(), halves: a.halves, tries: a.tries}
		if a.node != "" {
			next.halves++
		}
		if a.begun() {
			next.tries++
		}
		r.answers[i] = next
	}
}

// end takes what the end of a stream tells of its answers: the error of a single one names its node.
func (r *round) end(err error) {
	e, ok := apierr.FromStatus(err)
	if ok && r.total == 1 && len(r.answers) == 1 && r.answers[0].node == "" {
		r.answers[0].node, r.answers[0].cancelled = e.Metadata["node"], e.Code == codes.Canceled
	}
}

// told says that an error was shown behind one of several answers: that of the first also ends the stream.
func (r *round) told(err error) bool {
	e, ok := apierr.FromStatus(err)
	return ok && slices.ContainsFunc(r.answers, func(a *answer) bool { return strings.HasSuffix(a.tail, "] "+e.Message) })
}

// missing says that the same request, sent again, makes answers that are not there because of some trouble. Nothing comes
// behind the answer of a chain that somebody cancelled.
func (r *round) missing() bool {
	if r.err == nil || r.stopping {
		return false
	}
	n := len(r.answers)
	if n == 0 || slices.ContainsFunc(r.answers, func(a *answer) bool { return !a.final() }) {
		return true
	}
	return n < r.total && (r.shape.repeat == 0 || r.answers[n-1].whole)
}

// unstored says that some of an answer was shown, and nothing of it is known to be stored.
func (a *answer) unstored() bool { return a.node == "" && (a.broke || a.text != "") }

// begun says that the model was asked for it, as far as was told.
func (a *answer) begun() bool { return a.node != "" || a.opened != nil || a.text != "" }

// drawn says that options were drawn for its prompt, so that others can be: not all of them are written anyway.
func (r *round) drawn() bool {
	return !r.shape.every && slices.ContainsFunc(r.answers, func(a *answer) bool { return len(a.opened.GetBuild().GetPicks()) > 0 })
}

// usual is the answer that is kept without a question: the last one of a chain, else the first, of those that are whole
// and not empty. nil where there is none.
func (r *round) usual() (kept *answer) {
	for _, a := range r.answers {
		if a.whole && a.text != "" && (kept == nil || r.shape.repeat > 0) {
			kept = a
		}
	}
	return kept
}

// before is the text of a round that stands before one of its answers: that of the answers before it in a chain.
func (r *round) before(a *answer) (text string) {
	if r.shape.repeat == 0 {
		return ""
	}
	for _, b := range r.answers {
		if b == a {
			break
		}
		text += b.text
	}
	return text
}

// label names one of several answers, from 0; empty of a single one.
func (r *round) label(n int) string {
	if r.total < 2 {
		return ""
	}
	return fmt.Sprintf("[%d/%d] ", n+1, r.total)
}

// name is the label of an answer with the branch that it is.
func (r *round) name(n int) string {
	branch := r.answers[n].opened.GetBranch()
	if branch != "" {
		branch += " "
	}
	return r.label(n) + branch
}
