package summary

import (
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const (
	// maxReply bounds what is taken of a reply, in bytes: no good one has so much.
	maxReply = 64 << 10
	// maxWrites is how often a summary is stored anew where something else than the texts of the node changed meanwhile.
	maxWrites = 3
)

// summarise asks the model about a node until a reply is good, and stores it. Beside a *NodeError stands what it took.
func (j *job) summarise(ctx context.Context, n Node) (Event, Use, error) {
	var use Use
	if err := j.ready(ctx); err != nil {
		return nil, use, err
	}
	var reason Reason
	for range 1 + j.Numbers.Again {
		message, partial, err := j.fit(ctx, n, reason)
		if err != nil {
			return nil, use, err
		}
		use.Asked++
		text, result, err := j.ask(ctx, message)
		use.PromptTokens += result.PromptTokens
		use.AnswerTokens += result.AnswerTokens
		if err != nil {
			return nil, use, err
		}
		var r Reply
		if r, reason, err = j.judge(ctx, text, result); err != nil {
			return nil, use, err
		}
		if reason == "" {
			e, err := j.store(ctx, n, Done{ID: n.ID, Reply: r, Use: use, Partial: partial})
			return e, use, err
		}
	}
	return Failed{ID: n.ID, Reason: string(reason), Message: messages[reason], Use: use}, use, nil
}

// ask gives the reply to a message. *NodeError where the model has not ended in time, or finds the message too long.
func (j *job) ask(ctx context.Context, message string) (string, llm.Result, error) {
	asking, stop := context.WithTimeout(ctx, j.Limits.Ask)
	defer stop()
	text, result, err := j.reply(asking, message)
	var fault *llm.Error
	switch {
	case err == nil:
		return text, result, nil
	case ctx.Err() == nil && asking.Err() != nil:
		return "", result, &NodeError{reasonTimeout, "the model has not ended its reply within " + j.Limits.Ask.String() + " (summaries.ask)"}
	case errors.As(err, &fault) && fault.Fault == llm.FaultTooLong:
		return "", result, &NodeError{reasonOverflow, fault.Error()}
	}
	return "", result, err
}

// reply asks the model.
func (j *job) reply(ctx context.Context, message string) (string, llm.Result, error) {
	temperature := 0.0
	return llm.Receive(ctx, j.model, llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Content: message}},
		Sampling: llm.Sampling{Temperature: &temperature, MaxTokens: j.Numbers.MaxTokens, Grammar: j.Numbers.Grammar},
	}, maxReply)
}

// judge reads a reply.
func (j *job) judge(ctx context.Context, text string, result llm.Result) (Reply, Reason, error) {
	if result.Finish == llm.FinishLength {
		return Reply{}, Cut, nil
	}
	r, reason := j.Numbers.Read(text)
	if reason != "" || j.Numbers.TokenLimit == 0 {
		return r, reason, nil
	}
	tokens, err := j.count(ctx, r.Summary)
	if err == nil && tokens > j.Numbers.TokenLimit {
		return Reply{}, OverTokens, nil
	}
	return r, "", err
}

// store stores a good reply, if the texts of the node are those that the model read. Nobody who gives up keeps it from that.
func (j *job) store(ctx context.Context, n Node, d Done) (Event, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), j.Limits.Store)
	defer stop()
	source := n.Source
	for range maxWrites {
		err := j.Store.Write(ctx, j.ns, n, d.Reply)
		if !errors.Is(err, ErrChanged) {
			return d, err
		}
		if n, err = j.Store.Node(ctx, j.ns, n.ID); err != nil {
			return nil, err
		}
		if n.Source != source || !n.Stale {
			break
		}
	}
	return Skipped{ID: d.ID, Why: Changed, Use: d.Use}, nil
}
