package turn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// maxAnswer bounds what is taken of an answer, in bytes: what is longer cannot be read anyway.
const maxAnswer = envelope.MaxBytes + 1

// heard is one answer of the model.
type heard struct {
	text   string
	result llm.Result
	// built is the prompt, made how the answer was.
	built Built
	made  ledger.Made
	// results are those that it was told of the batch before.
	results []tool.Result
	// read is what was done to read it.
	read []string
	// again is how often it had said just this before, and nothing else since.
	again int
	// asked: the model was, whatever it said.
	asked bool
}

// ask calls the model once and has what it says judged. The call is charged in the transaction of its answer, or in one of its own where the work
// was stopped meanwhile.
func (e *Engine) ask(ctx context.Context, ns string, s ledger.Session) error {
	t := e.think(ctx, ns, &s, nil)
	err := t.err
	if err == nil {
		_, err = e.Ledger.Change(ctx, ns, s.ID, model, t.write)
		err = refusedAlready(err)
	}
	if err != nil && ctx.Err() != nil {
		e.charge(ctx, ns, s.ID, s.State.Turn.ID, t)
	}
	return err
}

// thought is what a call of the model came to.
type thought struct {
	// write writes it: where the session is no longer what the model was told of, that it was called, or a refusal where it was not.
	write func(*ledger.Work) error
	// err is why there is nothing to write, panicked what it panicked with, and where.
	err      error
	panicked string
	// asked: the model was, and said text.
	asked bool
	text  string
}

// think calls the model and has what it says judged. fresh are texts of the session that are not stored yet.
func (e *Engine) think(ctx context.Context, ns string, s *ledger.Session, fresh map[string]string) thought {
	if s.Turns == 0 && len(s.Pins) == 0 { // What the session meets first it keeps to (S18).
		e.Tools.Await(ctx, ns, "")
	}
	r, err := e.Tools.Router(ctx, ns, *s)
	var h heard
	if err != nil {
		err = &unaskedError{err}
	} else {
		h, err = e.hear(ctx, ns, s, r, fresh)
	}
	t := thought{asked: h.asked, text: h.text}
	if t.err = ctx.Err(); t.err != nil {
		return t
	}
	called := calledModel(err)
	write, err := e.judge(ctx, ns, *s, r, h, err)
	if err != nil {
		t.err = err
		return t
	}
	t.write = func(w *ledger.Work) error {
		switch {
		case sameGround(w.Session, s):
			return write(w)
		case called:
			return discard(w, s.State.Turn.ID, h.text, "the session was changed while the model answered")
		}
		return &session.RefusedError{Code: session.RefusedState, Why: "the session changed while the model was to be asked"}
	}
	return t
}

// charge charges a call of the model of which nothing is taken, since its work was stopped or its message refused while it answered: whoever interrupts,
// cancels or leaves again and again would have it called without limit. Where nothing may be written, such as by a process that lost the session, the
// charge is lost.
func (e *Engine) charge(ctx context.Context, ns, id, turn string, t thought) {
	if !t.asked {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer stop()
	_, _ = e.Ledger.Change(ctx, ns, id, model, func(w *ledger.Work) error {
		return discard(w, turn, t.text, "the work was stopped, or its message refused, while the model answered")
	})
}

// calledModel says whether the model was called, by why there is no answer.
func calledModel(away error) bool {
	stop, ok := stopFor(away)
	return !ok || stop.Called
}

// AnswerOutdated is the verdict of the rows that tell of answers that are not taken.
const AnswerOutdated = "ANSWER_OUTDATED"

// discard charges the call of an answer that is not taken, and has a row tell it (C42) and why.
func discard(w *ledger.Work, turn, text, why string) error {
	spent := w.Session.Spent.ModelCalls
	if _, err := w.Apply(session.Discarded{Turn: turn}, gate.Change{}); err != nil {
		return err
	}
	w.Session.Spent.ModelCalls = spent + 1 // whether a turn is charged or not
	w.Row(audit.Entry{
		Kind: audit.Refusal, Verdict: AnswerOutdated, Turn: turn, ArgsDigest: string(sumOf(text)),
		Reason: why + ": nothing of the answer is taken, and its call is charged",
	})
	return nil
}

// sameGround says that an answer to one state of a session is one to the other, too: nobody has spoken in the turn, moved it or changed what
// it is about. What waits in the queue, or was asked aside, makes no answer wrong.
func sameGround(a, b *ledger.Session) bool {
	x, y := a.Talk.Messages, b.Talk.Messages
	return a.State.Turn.ID == b.State.Turn.ID && a.State.Turn.Utterance == b.State.Turn.Utterance && a.State.Turn.Running == b.State.Turn.Running &&
		a.State.Step == b.State.Step && a.State.Lifecycle == b.State.Lifecycle && len(x) == len(y) && (len(x) == 0 || x[len(x)-1].Text == y[len(y)-1].Text) &&
		reflect.DeepEqual(&a.Items, &b.Items) && reflect.DeepEqual(&a.Settings, &b.Settings)
}

// unaskedError is why the model was not asked: no prompt could be made, or its tools could not be had.
type unaskedError struct{ error }

func (e *unaskedError) Unwrap() error { return e.error }

// NoRoomError is given by Prompts where what was said in the turn leaves no room for a prompt in the window.
type NoRoomError struct{ Why string }

func (e *NoRoomError) Error() string { return e.Why }

// room is how many tokens of the window an answer leaves for a prompt. *NoRoomError where that is none.
func (e *Engine) room(window llm.Identity) (int, error) {
	if window.Window <= e.Limits.Answer {
		return 0, &NoRoomError{Why: fmt.Sprintf(
			"the window of the model has %d tokens and an answer may take %d (agent.sessions.answer_tokens): nothing is left for a prompt", window.Window, e.Limits.Answer)}
	}
	return window.Window - e.Limits.Answer, nil
}

// stopFor says how a turn ends whose model did not answer: it is asked again with the next message. false: the error is one of the store.
func stopFor(away error) (session.Stopped, bool) {
	var fault *llm.Error
	var unasked *unaskedError
	var full *NoRoomError
	var late *lateError
	switch {
	case errors.As(away, &late):
		return session.Stopped{Reason: session.ReasonBudget, Why: late.Error(), Called: true}, true
	case errors.As(away, &full):
		return session.Stopped{Reason: session.ReasonBudget, Why: full.Why}, true
	case errors.As(away, &unasked):
		return session.Stopped{Reason: session.ReasonUnreachable, Why: unasked.Error()}, true
	case errors.As(away, &fault):
		return session.Stopped{Reason: session.ReasonUnreachable, Why: fault.Error(), Called: true}, true
	}
	return session.Stopped{}, false
}

// stuck says that the model has said the very same again and again, and nothing else.
func (e *Engine) stuck(h heard) bool { return e.Limits.Same > 0 && h.again+1 >= e.Limits.Same }

// circle ends the turn of a model that goes round in circles: what it said last is kept, and nothing of it is done (cases/agent.md c29). judged
// are its calls, if they were looked at.
func (e *Engine) circle(h heard, judged []router.Judged, why string) func(*ledger.Work) error {
	return e.undone(h, judged, session.Stopped{Reason: session.ReasonStuck, Why: why, Called: true})
}

// undone ends the turn with an answer of which nothing is done.
func (e *Engine) undone(h heard, judged []router.Judged, stop session.Stopped) func(*ledger.Work) error {
	return func(w *ledger.Work) error {
		if err := e.heard(w, h, nil); err != nil {
			return err
		}
		for _, j := range judged {
			if err := putJSON(w, resultOf(j.Call.ID), j.Result()); err != nil {
				return err
			}
			rows(w, j.Entries(""))
		}
		return e.carry(w, stop, gate.Change{})
	}
}

// judge reads an answer and has its calls judged. away is why there is none.
func (e *Engine) judge(ctx context.Context, ns string, s ledger.Session, r router.Router, h heard, away error) (func(*ledger.Work) error, error) {
	if away != nil {
		stop, ok := stopFor(away)
		if !ok {
			return nil, away
		}
		return func(w *ledger.Work) error {
			w.Actor = system
			return e.carry(w, stop, gate.Change{})
		}, nil
	}
	if e.stuck(h) {
		return e.circle(h, nil, fmt.Sprintf("the model gave the very same answer %d times, and nothing else", h.again+1)), nil
	}
	calls := make([]envelope.ToolCall, len(h.result.Calls))
	for i, c := range h.result.Calls {
		calls[i] = envelope.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
	}
	read, err := envelope.Parse(envelope.Answer{Text: h.text, CutOff: h.result.Finish == llm.FinishLength, Calls: calls})
	var unreadable *envelope.Error
	if errors.As(err, &unreadable) {
		return func(w *ledger.Work) error { return e.unreadable(w, h, unreadable) }, nil
	}
	if err != nil {
		return nil, err
	}
	h.read = read.Notes()
	return e.answered(ctx, ns, s, r, h, read.Envelope)
}

// hear builds the prompt and calls the model.
func (e *Engine) hear(ctx context.Context, ns string, s *ledger.Session, r router.Router, fresh map[string]string) (heard, error) {
	generator, err := e.Models.Generator(s.Backend)
	if err != nil {
		return heard{}, &unaskedError{err}
	}
	teller, ok := generator.(llm.Teller)
	constrain := ok && teller.Tells().Schema
	told := e.tellings.tell(r.Tools)
	var h heard
	p := Prompt{Session: *s, Pattern: s.Talk.Pattern, Constrain: constrain, Tools: told.shown}
	var talk []llm.Message
	err = e.read(ctx, ns, s.ID, func(t reader) (err error) {
		t.fresh = fresh
		if talk, err = t.messages(s.Talk.Messages); err != nil {
			return err
		}
		if h.results, err = t.results(*s); err != nil {
			return err
		}
		return t.past(*s, &p)
	})
	if err != nil {
		return heard{}, err
	}
	if err := e.refers(ctx, ns, *s, r, &p); err != nil {
		return heard{}, err
	}
	for i, result := range h.results {
		talk = append(talk, llm.Message{Role: llm.RoleTool, Content: result.Message(), CallID: s.Talk.Owed[i].ID})
	}
	for i, m := range talk {
		if i == 0 {
			p.User = m.Content
			continue
		}
		p.Talk = append(p.Talk, m.Content)
	}
	window, err := generator.Window(ctx)
	if err != nil {
		return heard{}, err
	}
	if p.Total, err = e.room(window); err != nil {
		return heard{}, err
	}
	if h.built, err = e.Prompts.Build(ctx, ns, p); err != nil {
		return heard{}, &unaskedError{err}
	}
	req := llm.Request{
		Messages: append([]llm.Message{{Role: llm.RoleSystem, Content: h.built.Text}}, talk...), Sampling: llm.Sampling{MaxTokens: e.Limits.Answer},
	}
	if constrain {
		req.Schema = told.schema
	}
	if err := ctx.Err(); err != nil {
		return heard{}, err
	}
	h.asked = true
	h.text, h.result, err = e.generate(ctx, *s, generator, req)
	h.again = repeats(talk, h.text)
	h.made = madeBy(window, req, h.result)
	return h, err
}

// generate has the model answer within its time, and within that of the session: *lateError.
func (e *Engine) generate(ctx context.Context, s ledger.Session, from llm.Generator, req llm.Request) (string, llm.Result, error) {
	most := e.Limits.Ask
	if left, bound := e.timeLeft(s); bound {
		most = min(most, left)
	}
	asking, stop := context.WithTimeout(ctx, most)
	defer stop()
	text, result, err := llm.Receive(asking, from, req, maxAnswer)
	if err != nil && most < e.Limits.Ask && errors.Is(asking.Err(), context.DeadlineExceeded) {
		err = &lateError{spentTime(s)}
	}
	return text, result, err
}

// repeats is how many of the last answers of a conversation are one text.
func repeats(talk []llm.Message, text string) (n int) {
	for _, m := range slices.Backward(talk) {
		switch {
		case m.Role != llm.RoleAssistant:
		case m.Content != text || text == "":
			return n
		default:
			n++
		}
	}
	return n
}

// unreadable has the model asked again, with the reasons, or ends the turn (C19).
func (e *Engine) unreadable(w *ledger.Work, h heard, why *envelope.Error) error {
	if err := e.heard(w, h, nil); err != nil {
		return err
	}
	w.Asked = sumOf(h.text)
	if _, err := w.Apply(session.Unreadable{Why: why.Error()}, gate.Change{}); err != nil {
		return err
	}
	if err := e.note(w, why.Ask(w.Session.Locale)); err != nil {
		return err
	}
	return e.settle(w)
}

// heard puts the results that the model was told, and its answer, behind the conversation of the turn.
func (e *Engine) heard(w *ledger.Work, h heard, calls []ledger.Named) error {
	t := &w.Session.Talk
	t.Made = h.made
	if err := h.built.keep(w); err != nil {
		return err
	}
	for i, result := range h.results {
		owed := t.Owed[i]
		if err := put(w, toldOf(owed.ID), []byte(result.Message())); err != nil {
			return err
		}
		t.Messages = append(t.Messages, ledger.Message{Role: string(llm.RoleTool), Text: toldOf(owed.ID), CallID: owed.ID})
	}
	t.Owed, t.Beside = calls, ""
	id := answerOf(e.IDs.ID())
	w.Answer, w.Read = id, h.read
	t.Messages = append(t.Messages, ledger.Message{Role: string(llm.RoleAssistant), Text: id, Calls: calls})
	return put(w, id, []byte(h.text))
}

// note puts a sentence of ours behind the conversation, as a message of the user, which all models take.
func (e *Engine) note(w *ledger.Work, text string) error {
	id := noteOf(e.IDs.ID())
	w.Session.Talk.Messages = append(w.Session.Talk.Messages, ledger.Message{Role: string(llm.RoleUser), Text: id})
	return put(w, id, []byte(text))
}
