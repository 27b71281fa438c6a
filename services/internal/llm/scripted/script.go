// Package scripted is a kind of backend that reads its answers from a YAML file. It is no model: nothing is predicted,
// and its tokens are characters. It stands in for one where a person wants to see the rest of Tsumugi work, or fail, in
// always the same way: in demonstrations, in tests, without a download.
package scripted

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Limits and defaults of a script.
const (
	// DefaultModel and DefaultWindow stand where the script names none.
	DefaultModel  = "scripted"
	DefaultWindow = 4096
	// MaxWindow is the largest window, in tokens.
	MaxWindow = 16 << 20
	// MaxReplies is the most replies of a script.
	MaxReplies = 10_000
	// MaxDelay is the longest delay.
	MaxDelay = time.Hour
	// MaxCharacters is the most characters of a token.
	MaxCharacters = 64
)

// Script is what a scripted backend says, as its YAML file has it.
type Script struct {
	// Model is the name of the model that it plays.
	Model string `yaml:"model"`
	// Window is the tokens that prompt and answer may have together.
	Window int `yaml:"window"`
	// Characters is how many characters (code points) make a token, in a prompt.
	Characters int `yaml:"characters_per_token"`
	// Replies are tried in order: the first that fits the prompt and is not used up answers.
	Replies []Reply `yaml:"replies"`
}

// Reply is one answer.
type Reply struct {
	// Contains is a text that the prompt must have; empty for any.
	Contains string `yaml:"contains"`
	// Matches is a regular expression (Go's syntax) that the prompt must match; empty for any.
	Matches string `yaml:"matches"`
	// Times is how often the reply is used. 0: always.
	Times int `yaml:"times"`
	// Text is the answer, one token a character. Pieces are an answer in tokens of the script's own; not both.
	Text   string   `yaml:"text"`
	Pieces []string `yaml:"pieces"`
	// Calls are the tools that the answer asks for. Such a reply fits only a request that offers tools.
	Calls []Call `yaml:"calls"`
	// Wait is the time before the first piece, Delay that before each.
	Wait  time.Duration `yaml:"wait"`
	Delay time.Duration `yaml:"delay"`
	// Fail ends the answer with an error.
	Fail *Fail `yaml:"fail"`

	pattern *regexp.Regexp
}

// Call is a tool that an answer asks for.
type Call struct {
	// Name is the tool's.
	Name string `yaml:"name"`
	// Arguments are a JSON object, as text; empty for none.
	Arguments string `yaml:"arguments"`
}

// Fail is how an answer fails.
type Fail struct {
	// Fault is one of the faults of package llm, such as busy or cut.
	Fault llm.Fault `yaml:"fault"`
	// After is how many pieces come before it.
	After int `yaml:"after"`
	// Message is one sentence for people.
	Message string `yaml:"message"`
	// RetryAfter is when the server asks to be tried again.
	RetryAfter time.Duration `yaml:"retry_after"`
}

// faults are what a script may name.
var faults = []llm.Fault{
	llm.FaultUnreachable, llm.FaultLoading, llm.FaultBusy, llm.FaultTooLong, llm.FaultRefused,
	llm.FaultCut, llm.FaultProtocol, llm.FaultTimeout,
}

// Parse reads a script. The error is a *yamlx.Error with every problem.
func Parse(text []byte) (*Script, error) {
	s := &Script{Model: DefaultModel, Window: DefaultWindow, Characters: 1}
	root, err := yamlx.Parse(text)
	if err != nil {
		return nil, err
	}
	wrong := &yamlx.Error{}
	if err := yamlx.DecodeNode(root, s); err != nil && !errors.As(err, &wrong) {
		return nil, err
	}
	s.check(func(path, format string, args ...any) {
		wrong.Problems = append(wrong.Problems, yamlx.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	})
	if len(wrong.Problems) > 0 {
		return nil, wrong
	}
	return s, nil
}

// tell notes a problem by its key.
type tell func(path, format string, args ...any)

func (s *Script) check(tell tell) {
	if s.Model == "" {
		tell("model", "is empty; leave it out for %q", DefaultModel)
	}
	if s.Window < 1 || s.Window > MaxWindow {
		tell("window", "is %d; it must be from 1 to %d tokens", s.Window, MaxWindow)
	}
	if s.Characters < 1 || s.Characters > MaxCharacters {
		tell("characters_per_token", "is %d; it must be from 1 to %d", s.Characters, MaxCharacters)
	}
	if len(s.Replies) == 0 || len(s.Replies) > MaxReplies {
		tell("replies", "are %d; there must be from 1 to %d", len(s.Replies), MaxReplies)
	}
	for i := range s.Replies {
		s.Replies[i].check(func(key, format string, args ...any) {
			tell(fmt.Sprintf("replies[%d].%s", i, key), format, args...)
		})
	}
}

func (r *Reply) check(tell tell) {
	var err error
	if r.pattern, err = regexp.Compile(r.Matches); err != nil {
		tell("matches", "is no regular expression: %v", err)
	}
	if r.Times < 0 {
		tell("times", "is %d; it must be 0 (always) or more", r.Times)
	}
	if r.Text != "" && len(r.Pieces) > 0 {
		tell("pieces", "stand beside text; only one of them can be the answer")
	}
	for i, p := range r.Pieces {
		if p == "" {
			tell(fmt.Sprintf("pieces[%d]", i), "is empty")
		}
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Name == "" {
			tell(fmt.Sprintf("calls[%d].name", i), "is missing; it must be the name of a tool")
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		if llm.CheckArguments(c.asked()) != nil {
			tell(fmt.Sprintf("calls[%d].arguments", i), "is no JSON object; it must be one, as text")
		}
	}
	inTime(tell, "wait", r.Wait)
	inTime(tell, "delay", r.Delay)
	if r.Fail != nil {
		r.Fail.check(tell, len(r.pieces()))
	}
}

func (c Call) asked() llm.ToolCall { return llm.ToolCall{Name: c.Name, Arguments: c.Arguments} }

// pieces are the answer, one token each.
func (r *Reply) pieces() []string {
	if len(r.Pieces) > 0 {
		return r.Pieces
	}
	return strings.Split(r.Text, "") // into characters
}

func (f *Fail) check(tell tell, pieces int) {
	if !slices.Contains(faults, f.Fault) {
		tell("fail.fault", "is %q; it must be one of %s", f.Fault, faultNames())
	}
	if f.After < 0 || f.After > pieces {
		tell("fail.after", "is %d; it must be from 0 to the %d pieces of the answer", f.After, pieces)
	}
	inTime(tell, "fail.retry_after", f.RetryAfter)
}

func inTime(tell tell, key string, d time.Duration) {
	if d < 0 || d > MaxDelay {
		tell(key, "is %v; it must be from 0s to %v", d, MaxDelay)
	}
}

func faultNames() string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}
