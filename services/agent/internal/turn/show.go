package turn

import (
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Texts reads what a session keeps apart from its rows, for who watches it. What is kept no longer is empty.
type Texts struct{ Ledger reads }

// reads is a ledger.
type reads interface {
	Read(ctx context.Context, ns string, fn func(store.View) error) error
}

// Answer gives what a model answered, by the id that the row has; false where it cannot be read, or is kept no longer.
func (t Texts) Answer(ctx context.Context, ns, session, id string) (env envelope.Envelope, ok bool, err error) {
	text, err := t.text(ctx, ns, session, id)
	if err != nil || text == "" {
		return env, false, err
	}
	read, err := envelope.Parse(envelope.Answer{Text: text})
	if err != nil {
		return env, false, nil //nolint:nilerr // A row of its own tells of an answer that cannot be read.
	}
	return read.Envelope, true, nil
}

// Message gives what a person wrote, as they wrote it; empty where it is kept no longer.
func (t Texts) Message(ctx context.Context, ns, session, message string) (string, error) {
	return t.text(ctx, ns, session, textOf(message))
}

// Result gives what the model is told of a call that has ended.
func (t Texts) Result(ctx context.Context, ns, session, call string) (out tool.Result, err error) {
	err = t.Ledger.Read(ctx, ns, func(v store.View) error { return (reader{view: v, session: session}).json(resultOf(call), &out) })
	return out, kept(err)
}

// Aside gives what a message that was asked aside was answered with.
func (t Texts) Aside(ctx context.Context, ns, session, message string) (Answer, error) {
	var a aside
	err := t.Ledger.Read(ctx, ns, func(v store.View) error { return (reader{view: v, session: session}).json(asideOf(message), &a) })
	if kept(err) != nil || err != nil {
		return Answer{}, kept(err)
	}
	return a.answer(), nil
}

func (t Texts) text(ctx context.Context, ns, session, id string) (text string, err error) {
	err = t.Ledger.Read(ctx, ns, func(v store.View) (err error) {
		text, err = (reader{view: v, session: session}).text(id)
		return err
	})
	return text, kept(err)
}

// kept takes a text that is not there for an empty one.
func kept(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
