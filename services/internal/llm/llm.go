// Package llm is how Tsumugi talks to model servers: a Counter says how large a text is, a Generator makes one longer.
//
// promptbuilder counts, agent generates; both read one backends file. One folder below this one per kind of server.
// Only promptbuilder and agent may import it (design 1; archtest).
package llm

import (
	"context"
	"time"
	"unicode/utf8"
)

// Identity says what a prompt was measured with. Two equal identities cut text into the same tokens and have the same window.
type Identity struct {
	// Backend is the name in the backends file.
	Backend string
	// Kind is the kind of server, such as `llamacpp`.
	Kind string
	// Address is the base address of the server.
	Address string
	// Model is the model as the server names it.
	Model string
	// Window is how many tokens one request may hold, prompt and answer together (of a slot, where the server has slots).
	Window int
	// Tokenizer is a hash of how the server cuts a fixed text into tokens.
	Tokenizer string
}

// Counter says how large a text is for one backend. Safe for concurrent use.
// Every error is an *Error.
type Counter interface {
	// Window asks the server who it is and how large its window is. Asked afresh at each call, since a server may be
	// restarted with another model; cheap (at most one short text is tokenised).
	Window(ctx context.Context) (Identity, error)
	// Count gives the tokens of text as generation would read it, BOS included where the server adds one.
	// A failed, negative or zero count of a text that is not empty is an error, never a number (field/wannabe.md 1.1 D7).
	Count(ctx context.Context, text string) (int, error)
	// Pieces gives the length in bytes of each token of text, in order, as generation would read it. A token that stands
	// for no byte of text (BOS) has length 0. The lengths add up to len(text). One call of the server, like Count.
	// The error wraps ErrNoPieces where the server cannot tell.
	Pieces(ctx context.Context, text string) ([]int, error)
}

// Local is a Counter that may count without asking a server.
type Local interface {
	// CountsHere says that Count and Pieces ask no server: the backends file names the model's vocabulary, or says that
	// estimates will do.
	CountsHere() bool
}

// Bordered is a Counter whose server tells token borders, so that Pieces answers also where nothing is counted here.
type Bordered interface {
	// TellsBorders says so.
	TellsBorders() bool
}

// Told is what a Generator takes and what its Results tell. The zero value is nothing.
type Told struct {
	// StopString: which stop string ended an answer, so that an empty Result.StopString means none.
	StopString bool
	// Cache: how many tokens of a prompt came from the server's cache, in Results with CacheTold: some versions of a server
	// do not say it, or not that there were none.
	Cache bool
	// Conversations: the server takes Request.Messages; elsewhere they are FaultRefused.
	Conversations bool
	// Tools: it also takes Request.Tools and tells Result.Calls; elsewhere tools are FaultRefused. Where the server is asked, it is as of
	// the last call of Window.
	Tools bool
	// Schema: it also holds an answer to Request.Schema; elsewhere a schema is FaultRefused.
	Schema bool
}

// Teller is a Generator that knows what it takes and what its Results tell.
type Teller interface {
	// Tells says it.
	Tells() Told
}

// Sampler is a Generator that knows what it can be told about sampling. One that is none takes no knob for wrong.
type Sampler interface {
	// Knobs are what the server knows of Sampling.
	Knobs() []Knob
}

// Estimator is a Counter whose counts may be estimates.
type Estimator interface {
	// Estimates says that Count and Pieces only estimate: nobody can count for the server, and no vocabulary is named.
	Estimates() bool
}

// Warner is a Counter that has something to say of how it is set up.
type Warner interface {
	// Warnings says in sentences what a person should know of the window, as of the last call of Window.
	Warnings() []string
}

// Generator makes text longer with one backend. Safe for concurrent use.
// Every error is an *Error.
type Generator interface {
	// Window is that of Counter.
	Window(ctx context.Context) (Identity, error)
	// Generate starts an answer and may wait for its beginning, so that a prompt that does not fit is an error here.
	// Cancelling ctx aborts the answer at the server, also between two calls of Recv.
	Generate(ctx context.Context, req Request) (Stream, error)
}

// sent is the key of what OnSent was given.
type sent struct{}

// OnSent gives a context for Generate, which calls f when it begins to ask the server for text: behind the wait for one of
// the backend's places (concurrency), and before the server reads the prompt.
func OnSent(ctx context.Context, f func()) context.Context { return context.WithValue(ctx, sent{}, f) }

// Sent calls what OnSent was given, if anything.
func Sent(ctx context.Context) {
	if f, ok := ctx.Value(sent{}).(func()); ok {
		f()
	}
}

// counted is the key of what OnCount was given.
type counted struct{}

// OnCount gives a context for a Counter, which calls f for each text that it sends to a server to be counted, with its
// characters (code points), behind the wait for one of the backend's places: for a text that is counted in parts as often as
// it is sent, and in Window for the short text by which a tokenizer is known. What an outer context was given is called, too.
// f is safe for concurrent use.
func OnCount(ctx context.Context, f func(characters int)) context.Context {
	outer, _ := ctx.Value(counted{}).(func(int))
	if outer == nil {
		return context.WithValue(ctx, counted{}, f)
	}
	return context.WithValue(ctx, counted{}, func(characters int) { outer(characters); f(characters) })
}

// Counted calls what OnCount was given, if anything.
func Counted(ctx context.Context, text string) {
	if f, ok := ctx.Value(counted{}).(func(int)); ok {
		f(utf8.RuneCountInString(text))
	}
}

// Request is what a model is asked.
type Request struct {
	// Prompt is sent as it is. Empty where there are Messages.
	Prompt string
	// Messages are a conversation, oldest first, which the server puts into the form that its model was trained on.
	Messages []Message
	// Tools are what the model may ask for in a conversation.
	Tools []Tool
	// Schema is a JSON Schema, as text, that the answer is held to: the server lets the model write nothing else. Only of a conversation
	// without Tools. What a server makes of a schema is its own (most know a part of the standard): who needs the answer to be right
	// checks it.
	Schema string
	// Suffix is how many bytes at the end of Prompt are the beginning of the answer, which the model goes on with. A server
	// that has only turns of users and models takes them as the beginning of the model's; to all others it is nothing.
	Suffix int
	// Sampling is how the answer is drawn.
	Sampling Sampling
}

// Stream is an answer in the making. Recv and Close are called by one goroutine.
type Stream interface {
	// Recv gives the next piece of text, never half a character and never empty. After the last piece it gives io.EOF;
	// any other error is an *Error, and what was received before it stands.
	Recv() (string, error)
	// Result says how the answer ended. Complete only after Recv gave io.EOF; before that, whatever is known.
	Result() Result
	// Close aborts the answer at the server if it still runs, and frees the connection. It may be called twice.
	Close() error
}

// Finish is why an answer ended.
type Finish string

// What a server says of the end of an answer.
const (
	// FinishStop: the model ended the text, or a stop string came.
	FinishStop Finish = "stop"
	// FinishLength: MaxTokens were reached, or the window was full.
	FinishLength Finish = "length"
)

// Result is what a server says of its answer.
type Result struct {
	// Finish is why the answer ended; empty while unknown.
	Finish Finish
	// StopString is the stop string that ended it, if one did.
	StopString string
	// Calls are the tools that the model asks for, in its order. Only of Messages, and only at a good end: an answer that was cut at
	// its length, or ended by a stop string, asks for none.
	Calls []ToolCall
	// PromptTokens is the whole prompt, CachedTokens the part that came from the server's prefix cache.
	PromptTokens, CachedTokens int
	// CacheTold: the server said how many came from the cache, so that CachedTokens 0 means none.
	CacheTold bool
	// AnswerTokens is what was generated.
	AnswerTokens int
	// PromptTime and AnswerTime are the server's own timings.
	PromptTime, AnswerTime time.Duration
}
