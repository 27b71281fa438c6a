package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// MaxAsides is how many messages of a session one process answers aside at once.
const MaxAsides = 4

// Answer is what a model said aside.
type Answer struct {
	Text string
	// Cut: it was longer than an answer may be. Replayed: it was given before, to the same message.
	Cut, Replayed bool
}

// aside is a message that was answered aside, as it is kept.
type aside struct {
	Question string `json:"question"`
	// Said is what the model said, verbatim.
	Said string `json:"said"`
	Cut  bool   `json:"cut,omitempty"`
	// made is how it was.
	made ledger.Made
}

func asideOf(message string) string { return message + "/aside" }

// Aside answers a message at once, from the session as it is now, while its turn goes on (seed 001, 4.4; field/review-agent.md C79). There
// is no tool in it and it moves nothing: it answers no question, and is never words of approval. It leaves its own text, a node beside the conversation and one row, and
// its call of the model is charged to the session in that row's transaction, and to the turn that was open, where that still is. A message
// that was answered before gets the same answer. *session.RefusedError, *ledger.FieldsError, *llm.Error, and store.ErrTaken where another
// message of this id was taken: of these no answer is kept.
//
// Once the model is asked the call is charged, whatever becomes of it and also where the caller has left: a model that has not answered leaves
// the one row without an answer (UNANSWERED), and an answer that came after all is kept for the message that is sent again. What is under way
// counts as spent for others and for the turn. A process that is killed while the model answers charges nothing: so many calls, at most
// MaxAsides a session, are lost with it.
func (e *Engine) Aside(ctx context.Context, ns, id string, who audit.Actor, message, text string) (Answer, error) {
	if wrong := checkAside(message, text); wrong != nil {
		return Answer{}, &ledger.FieldsError{Wrong: wrong}
	}
	place := ns + "/" + id
	others, ok := e.asides.begin(place)
	if !ok {
		return Answer{}, &session.RefusedError{Code: session.RefusedFull, Why: fmt.Sprintf("%d messages of the session are being answered aside, as many as may: wait for one of them", MaxAsides)}
	}
	defer e.asides.end(place)
	s, err := e.Ledger.Get(ctx, ns, id)
	if err != nil {
		return Answer{}, err
	}
	answer, found, err := e.answeredAside(ctx, ns, id, message, text)
	if err != nil || found {
		return answer, err
	}
	if err := mayAskAside(s, others); err != nil {
		return Answer{}, err
	}
	q, err := e.askAside(ctx, ns, s, text)
	if err != nil {
		return Answer{}, err
	}
	others, ends := e.asides.call(place, s.State.Turn.ID)
	defer ends()
	now, err := e.Ledger.Get(ctx, ns, id) // The turn may have spent what there was while the prompt was made.
	if err != nil {
		return Answer{}, err
	}
	if err := mayAskAside(now, others); err != nil {
		return Answer{}, err
	}
	said, err := e.hearAside(ctx, q)
	return e.keepAside(ctx, ns, s, who, message, said, err)
}

func checkAside(message, text string) (wrong []session.Violation) {
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			wrong = append(wrong, session.Violation{Field: field, Description: fmt.Sprintf(format, args...)})
		}
	}
	add(message == "", "message_id", "must not be empty")
	add(strings.TrimSpace(text) == "", "text", "must not be blank")
	add(len(text) > MaxMessage, "text", "must have at most %d bytes, and has %d", MaxMessage, len(text))
	add(!utf8.ValidString(text), "text", "must be UTF-8")
	return wrong
}

// mayAsk says whether a call of the model may be made aside, beside so many others that are under way.
func mayAsk(s session.State, others int) error {
	switch {
	case s.Lifecycle == session.Failed:
		return &session.RefusedError{Code: session.RefusedState, Why: "the session's record is broken: it can be read and not continued"}
	case s.Turn.Running != session.NoTurn && s.Turn.ModelCalls <= others+1:
		return &session.RefusedError{Code: session.RefusedFull, Why: "the budget of model calls of the turn is spent but for its own: ask when it has ended"}
	}
	return nil
}

// question is what a model is asked aside.
type question struct {
	text   string
	model  llm.Generator
	window llm.Identity
	req    llm.Request
}

// askAside makes what the model is asked: nothing is charged for it.
func (e *Engine) askAside(ctx context.Context, ns string, s ledger.Session, text string) (question, error) {
	generator, err := e.Models.Generator(s.Backend)
	if err != nil {
		return question{}, err
	}
	window, err := generator.Window(ctx)
	if err != nil {
		return question{}, err
	}
	p := Prompt{Session: s, Pattern: string(envelope.BaseMain), Aside: asideSentence(s.Locale)}
	if p.Total, err = e.room(window); err != nil {
		return question{}, err
	}
	var talk []llm.Message
	err = e.read(ctx, ns, s.ID, func(t reader) (err error) {
		if talk, err = t.soFar(s); err != nil {
			return err
		}
		return t.past(s, &p)
	})
	if err != nil {
		return question{}, err
	}
	talk = behind(talk, p.Aside+"\n\n"+text)
	p.User = talk[len(talk)-1].Content
	for _, m := range talk[:len(talk)-1] {
		p.Talk = append(p.Talk, m.Content)
	}
	system, err := e.Prompts.Build(ctx, ns, p)
	if err != nil {
		return question{}, err
	}
	req := llm.Request{
		Messages: append([]llm.Message{{Role: llm.RoleSystem, Content: system.Text}}, talk...), Sampling: llm.Sampling{MaxTokens: e.Limits.Answer},
	}
	return question{text, generator, window, req}, ctx.Err()
}

// hearAside calls the model once.
func (e *Engine) hearAside(ctx context.Context, q question) (aside, error) {
	ctx, stop := context.WithTimeout(ctx, e.Limits.Ask)
	defer stop()
	said, result, err := llm.Receive(ctx, q.model, q.req, maxAnswer)
	return aside{Question: q.text, Said: strings.ToValidUTF8(said, "\uFFFD"), Cut: result.Finish == llm.FinishLength, made: madeBy(q.window, q.req, result)}, err
}

// asideSentence says how such a message is answered, in Japanese for the locale "ja" and else in English.
func asideSentence(locale string) string {
	if locale == "ja" {
		return "次のメッセージは、作業の途中での質問です。ここで分かっていることだけから、JSON ではなく普通の文で答えてください。ツールは呼べません。" +
			"ここで何を言っても、作業は変わらず、何も承認されません。"
	}
	return "The next message is asked aside, while the work goes on. Answer it from what is known here, in plain text and not in JSON. No tool can be called. " +
		"Nothing that is said here changes the work or approves anything."
}

// behind puts the message behind the conversation; some models take no two messages of the user one after the other.
func behind(talk []llm.Message, text string) []llm.Message {
	if n := len(talk); n > 0 && talk[n-1].Role == llm.RoleUser {
		talk[n-1].Content += "\n\n" + text
		return talk
	}
	return append(talk, llm.Message{Role: llm.RoleUser, Content: text})
}

// soFar is the conversation of the open turn, with what is known just now of each call of its last answer.
func (r reader) soFar(s ledger.Session) ([]llm.Message, error) {
	talk, err := r.messages(s.Talk.Messages)
	if err != nil {
		return nil, err
	}
	results, err := r.results(s)
	if err != nil {
		return nil, err
	}
	for i, result := range results {
		call := s.Talk.Owed[i].ID
		j := slices.IndexFunc(s.State.Calls, func(c session.Call) bool { return c.ID == call })
		if j >= 0 && !s.State.Calls[j].Progress.Final() {
			result = unfinished(s.State.Calls[j].Progress)
		}
		talk = append(talk, llm.Message{Role: llm.RoleTool, Content: result.Message(), CallID: call})
	}
	return talk, nil
}

// unfinished is what is told of a call that has no result yet.
func unfinished(p session.Progress) tool.Result {
	switch {
	case p == session.Pending:
		return tool.Outcome(tool.Waiting, "")
	case p.Runnable():
		return tool.Outcome(tool.Waiting, "It may start, and has not begun.")
	case p == session.Intent:
		return tool.Outcome(tool.Unknown, "It has begun, and has not ended.")
	}
	return tool.Outcome(tool.Unknown, "A person is asked what became of it.")
}

// AsideAnswered is the verdict of the row of a message that was answered aside, asideUnanswered of one for which the model was asked and that
// has no answer.
const (
	AsideAnswered   = "ANSWERED"
	asideUnanswered = "UNANSWERED"
)

// keepWithin is how long what is written of a call of the model may take whose caller has left.
const keepWithin = 10 * time.Second

// keepAside charges the call and writes the message, its answer and its row; the row alone where failed says why there is no answer, or where
// another call has taken the id of the message meanwhile.
func (e *Engine) keepAside(ctx context.Context, ns string, s ledger.Session, who audit.Actor, message string, said aside, failed error) (out Answer, err error) {
	left := ctx.Err() != nil
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer stop()
	var wrong error
	_, err = e.Ledger.Change(ctx, ns, s.ID, who, func(w *ledger.Work) (err error) {
		found := false
		if out, wrong = (Answer{}), failed; wrong == nil {
			out, found, wrong = (reader{view: w.Tx, session: s.ID}).aside(message, said.Question)
		}
		row := audit.Entry{Kind: audit.Aside, Verdict: asideUnanswered, Turn: s.State.Turn.ID, ArgsDigest: string(sumOf(said.Question))}
		switch {
		case found || errors.Is(wrong, store.ErrTaken):
			row.Reason = "asked aside, and its id was taken meanwhile"
		case failed != nil && left:
			row.Reason = "asked aside, and its sender left before the model had answered"
		case failed != nil:
			row.Reason = "asked aside, and the model has not answered"
		case wrong != nil:
			return wrong
		default:
			row.Verdict, row.Reason, out = AsideAnswered, "asked aside", said.answer()
		}
		if row.Details, err = chargeAside(w, s.State.Turn.ID, message, said, row.Verdict); err != nil {
			return err
		}
		w.Row(row)
		if row.Verdict != AsideAnswered {
			return nil
		}
		if err := conversation.Aside(w, conversation.Exchange{User: said.Question, Reply: out.Text, Made: said.made}); err != nil {
			return err
		}
		return putJSON(w, asideOf(message), said)
	})
	return out, cmp.Or(err, wrong)
}

// chargeAside charges the call, whether a turn is charged or not, and gives the details of its row.
func chargeAside(w *ledger.Work, turn, message string, said aside, verdict string) (string, error) {
	before, spent := w.Session.State.Turn.ModelCalls, w.Session.Spent.ModelCalls
	if _, err := w.Apply(session.AnsweredAside{Turn: turn}, gate.Change{}); err != nil {
		return "", err
	}
	w.Session.Spent.ModelCalls = spent + 1
	d := struct {
		Answer  string `json:"answer_digest,omitempty"`
		Charged bool   `json:"charged"`
		Message string `json:"message"`
	}{Charged: w.Session.State.Turn.ModelCalls != before, Message: tool.PlainLine(message, tool.MaxName)}
	if verdict == AsideAnswered {
		d.Answer = string(sumOf(said.Said))
	}
	raw, err := json.Marshal(d)
	return string(raw), err
}

// answeredAside is the answer of a message that was answered before.
func (e *Engine) answeredAside(ctx context.Context, ns, id, message, text string) (out Answer, found bool, err error) {
	err = e.read(ctx, ns, id, func(t reader) (err error) {
		out, found, err = t.aside(message, text)
		return err
	})
	return out, found, err
}

// aside is the answer of a message that was answered. store.ErrTaken where another one has its id, one that was not asked aside included.
func (r reader) aside(message, text string) (out Answer, found bool, err error) {
	var kept aside
	err = r.json(asideOf(message), &kept)
	switch {
	case errors.Is(err, store.ErrNotFound):
		other, err := r.any(textOf(message), decidedOf(message))
		if err == nil && other {
			err = store.ErrTaken
		}
		return Answer{}, false, err
	case err != nil:
		return Answer{}, false, err
	case kept.Question != text:
		return Answer{}, false, store.ErrTaken
	}
	out = kept.answer()
	out.Replayed = true
	return out, true, nil
}

// answer is what is told of it. A model that keeps to the form of the conversation all the same is taken at its reply.
func (a aside) answer() Answer {
	out := Answer{Text: a.Said, Cut: a.Cut}
	if reply := replyOf(a.Said); reply != "" {
		out.Text = reply
	}
	return out
}
