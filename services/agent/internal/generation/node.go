package generation

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// The roles of texts. What the last two said is no part of a story.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
	roleTool      = "tool"
)

// Node is a stored exchange.
type Node struct {
	ID      uuid.UUID
	Created time.Time
	Texts   []NodeText
	Model   string
	Tags    []string
	// Record is how the answer was made; nil for texts that a person wrote.
	Record *Record
	// What follows is the store's own, and empty in a node that is to be stored.
	Etag     string
	Summary  Summary
	Score    *float64
	Note     string
	Warnings []string
}

// Summary is a short form of a node; Source says of which texts it is.
type Summary struct {
	Text, Source string
	Stale        bool
	Built        time.Time
}

// NodeText is what one speaker said, verbatim. Tokens, Duration and Rate (tokens per second) are 0 where unknown.
type NodeText struct {
	Role, Content string
	Tokens        int
	Duration      time.Duration
	Rate          float64
}

// Record says how an answer was made, so that it can be made again. Zero values are unknown.
type Record struct {
	Backend            llm.Identity
	PromptDigest, Task string
	PickSeed           uint32
	// Picks are the drawn options, each as `field#group=option`, several of one group with commas between them, and behind
	// a blank what stands in place of the group, where it is known and has room.
	Picks []string
	// Branch is the name of one of the answers of EveryOption.
	Branch                                   string
	Sampling                                 llm.Sampling
	PromptTokens, CachedTokens, AnswerTokens int
	PromptTime, AnswerTime                   time.Duration
	Finish                                   Finish
	// Error is why the answer is not whole, in one sentence, and Fault what was wrong with the model server; empty where
	// nothing was.
	Error string
	Fault llm.Fault
	// RequestDigest tells the request that made the node from another one with the same id.
	RequestDigest string
}

// taskPlain is the Task of a prompt that the caller wrote.
const taskPlain = "PLAIN"

// Finish is why an answer ended.
type Finish string

// The ends of an answer. After the first two it is whole.
const (
	FinishStop                = Finish(llm.FinishStop)
	FinishLength              = Finish(llm.FinishLength)
	FinishCancelled    Finish = "cancelled"
	FinishDisconnected Finish = "disconnected"
	FinishIdle         Finish = "idle"
	FinishTimeout      Finish = "timeout"
	FinishBackendError Finish = "backend_error"
	FinishShutdown     Finish = "shutdown"
)

// final says that the same request is answered with what came: the model ended the answer, or a person. After every
// other end the request makes it anew.
func (f Finish) final() bool { return f.state() == Done || f == FinishCancelled }

// state is the state of a generation whose answer ended like this.
func (f Finish) state() State {
	switch f {
	case FinishStop, FinishLength:
		return Done
	case FinishCancelled, FinishDisconnected:
		return Cancelled
	default:
		return Failed
	}
}

// Story is what a writer fixes about a work. A nil text was not given.
type Story struct {
	Title, Synopsis, Setting, Plot, Note, DialogueLevel, Rating *string
	Keywords, Genres                                            []string
}

// over gives s where it says something, and base elsewhere.
func (s Story) over(base Story) Story {
	merged := Story{
		Title:         cmp.Or(s.Title, base.Title),
		Synopsis:      cmp.Or(s.Synopsis, base.Synopsis),
		Setting:       cmp.Or(s.Setting, base.Setting),
		Plot:          cmp.Or(s.Plot, base.Plot),
		Note:          cmp.Or(s.Note, base.Note),
		DialogueLevel: cmp.Or(s.DialogueLevel, base.DialogueLevel),
		Rating:        cmp.Or(s.Rating, base.Rating),
		Keywords:      base.Keywords,
		Genres:        base.Genres,
	}
	if len(s.Keywords) > 0 {
		merged.Keywords = s.Keywords
	}
	if len(s.Genres) > 0 {
		merged.Genres = s.Genres
	}
	return merged
}

// Built is a story prompt and what promptbuilder says of it: what is read here, and Told.
type Built struct {
	Prompt, Digest string
	// Task is an enum value of promptbuilder without its prefix.
	Task string
	// Tokens are those of the prompt, MaxTokens those kept free for the answer.
	Tokens, MaxTokens int
	// Suffix is how many characters at the end of Prompt are the beginning of the answer.
	Suffix int
	// Cut is what was left out; nil when nothing was.
	Cut *Cut
	// Overflow says that the prompt is over the limit all the same; nil when it is not.
	Overflow *llm.OverflowError
	Picks    []Pick
	// Combinations are the picks of every combination of options, where they were asked for; More says that there are
	// more of them than are listed.
	Combinations [][]Pick
	More         bool
	// Sampling is how the answer is drawn where the request leaves it open: what a preset says.
	Sampling llm.Sampling
	// Stop are the strings at which an answer to a prompt of this form ends.
	Stop []string
	// Measured is the model server that counted.
	Measured llm.Identity
	// Chat is a conversation, in place of Prompt, and Tools what the model may call in it; nil where none is asked for.
	Chat  *ChatBuilt
	Tools []llm.Tool
	// Told is the whole reply but for the prompt and the cut, in promptbuilder's wire form: it is for the caller, and says
	// nothing here.
	Told []byte
}

// Cut is the head of the text that was left out.
type Cut struct {
	Characters, Lines, KeptCharacters int
	FirstKept                         string
}

// Pick is what was taken of one group: its options, in the order in which they were taken.
type Pick struct {
	Field   string
	Group   int
	Options []int
	// Text is what stands in place of the group; empty where it is not known. Picks that are taken again are those of
	// another group where they come to another text: it is drawn, and Told says so.
	Text string
}
