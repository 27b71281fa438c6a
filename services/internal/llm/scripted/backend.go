package scripted

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Kind is the name of this kind of backend in the backends file.
const Kind = "scripted"

// Backend plays a script, as Counter and as Generator. Safe for concurrent use.
type Backend struct {
	name, file string
	script     *Script

	mu   sync.Mutex
	used []int // how often each reply answered
}

var (
	_ llm.Counter   = (*Backend)(nil)
	_ llm.Generator = (*Backend)(nil)
)

// New makes a backend. Name is that in the backends file; file is where the script came from, and stands where other
// kinds have an address.
func New(name, file string, script *Script) *Backend {
	return &Backend{name: name, file: file, script: script, used: make([]int, len(script.Replies))}
}

// Close does nothing: there is no connection.
func (b *Backend) Close() error { return nil }

// Window tells what the script says.
func (b *Backend) Window(ctx context.Context) (llm.Identity, error) {
	if err := b.ended(ctx); err != nil {
		return llm.Identity{}, err
	}
	return llm.Identity{
		Backend: b.name, Kind: Kind, Address: b.file, Model: b.script.Model, Window: b.script.Window,
		Tokenizer: fmt.Sprintf("%d-characters", b.script.Characters),
	}, nil
}

// Count counts characters, characters_per_token of them to a token.
func (b *Backend) Count(ctx context.Context, text string) (int, error) {
	if err := b.readable(ctx, text); err != nil {
		return 0, err
	}
	return b.tokens(text), nil
}

func (b *Backend) tokens(text string) int {
	return (utf8.RuneCountInString(text) + b.script.Characters - 1) / b.script.Characters
}

// Tells implements llm.Teller.
func (*Backend) Tells() llm.Told { return llm.Told{StopString: true, Conversations: true, Tools: true} }

// TellsBorders implements llm.Bordered.
func (*Backend) TellsBorders() bool { return true }

// Pieces cuts behind every characters_per_token characters.
func (b *Backend) Pieces(ctx context.Context, text string) ([]int, error) {
	if err := b.readable(ctx, text); err != nil {
		return nil, err
	}
	lengths := make([]int, 0, b.tokens(text))
	begin, characters := 0, 0
	for i := range text {
		if characters == b.script.Characters {
			lengths, begin, characters = append(lengths, i-begin), i, 0
		}
		characters++
	}
	if begin < len(text) {
		lengths = append(lengths, len(text)-begin)
	}
	return lengths, nil
}

func (b *Backend) readable(ctx context.Context, text string) error {
	if !utf8.ValidString(text) {
		return b.fault(llm.FaultRefused, llm.ErrNotUTF8, "%v", llm.ErrNotUTF8)
	}
	return b.ended(ctx)
}

func (b *Backend) ended(ctx context.Context) error {
	if e := llm.Ended(ctx); e != nil {
		return b.fault(e.Fault, e.Err, "%s", e.Message)
	}
	return nil
}

func (b *Backend) fault(fault llm.Fault, cause error, format string, args ...any) *llm.Error {
	return &llm.Error{Fault: fault, Backend: b.name, Address: b.file, Message: fmt.Sprintf(format, args...), Err: cause}
}

// Generate answers with the first reply that fits the prompt and is not used up; FaultRefused where there is none.
func (b *Backend) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := req.CheckFor(b.Tells()); err != nil {
		return nil, b.fault(llm.FaultRefused, err, "%v", err)
	}
	if err := b.ended(ctx); err != nil {
		return nil, err
	}
	llm.Sent(ctx)
	text := req.Text()
	prompt := b.tokens(text)
	if prompt >= b.script.Window {
		e := b.fault(llm.FaultTooLong, nil, "the prompt does not fit the window: %d tokens in %d", prompt, b.script.Window)
		e.Tokens, e.Window = prompt, b.script.Window
		return nil, e
	}
	reply, ok := b.pick(text, len(req.Tools) > 0)
	if !ok {
		return nil, b.fault(llm.FaultRefused, nil, "no reply of the script fits the prompt, or those that fit are used up")
	}
	if f := reply.Fail; f != nil && f.After == 0 {
		return nil, b.scripted(f)
	}
	room := min(req.Sampling.MaxTokens, b.script.Window-prompt)
	return &stream{backend: b, ctx: ctx, reply: reply, plan: reply.plan(room, req.Sampling.Stop), prompt: prompt}, nil
}

// pick takes the reply to a prompt, beside which tools are offered or not.
func (b *Backend) pick(prompt string, tools bool) (Reply, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.script.Replies {
		if (r.Times > 0 && b.used[i] >= r.Times) || (len(r.Calls) > 0 && !tools) || !strings.Contains(prompt, r.Contains) || !r.pattern.MatchString(prompt) {
			continue
		}
		b.used[i]++
		return r, true
	}
	return Reply{}, false
}

// scripted is an error that the script wants.
func (b *Backend) scripted(f *Fail) *llm.Error {
	message := f.Message
	if message == "" {
		message = fmt.Sprintf("the script says that the server is %s", f.Fault)
	}
	e := b.fault(f.Fault, nil, "%s", message)
	e.RetryAfter = f.RetryAfter
	return e
}

// plan is an answer before its first piece.
type plan struct {
	pieces []string
	finish llm.Finish
	stop   string
	tokens int
	calls  []llm.ToolCall
}

// plan cuts an answer at the limit, then at a stop string; the token that holds the stop string counts.
func (r *Reply) plan(room int, stops []string) plan {
	pieces, finish := r.pieces(), llm.FinishStop
	if len(pieces) > room {
		pieces, finish = pieces[:room], llm.FinishLength
	}
	kept, stop := llm.CutAtStop(pieces, stops)
	if stop != "" {
		return plan{kept, llm.FinishStop, stop, len(kept) + 1, nil}
	}
	p := plan{kept, finish, "", len(kept), nil}
	if finish == llm.FinishStop {
		for _, c := range r.Calls {
			p.calls = append(p.calls, c.asked())
		}
	}
	return p
}
