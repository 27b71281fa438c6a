package ledger

import (
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Bounds of what a session keeps of its conversation beside the texts themselves, in entries.
const (
	MaxPast     = 5
	MaxEvidence = 8
	// MaxHashes are the calls that a person denied, and those of which nobody knows what became, that are kept.
	MaxHashes = 64
	// MaxExecuted are the calls of a task that are kept for its result, latest last.
	MaxExecuted = 64
	// MaxSpeakers are the persons of whose last message is known when it came.
	MaxSpeakers = 16
)

// Talk is what a session keeps of its conversation: the ids of texts, never the texts.
type Talk struct {
	// Messages are those of the open turn, oldest first.
	Messages []Message `json:"messages,omitempty"`
	// Owed are the calls of the last answer, in their order, whose results the model has not got yet (C69).
	Owed []Named `json:"owed,omitempty"`
	// Beside is the id of a text that the model gets with the last of these results, or with the decision about its plan or result: what was refused
	// beside them; empty: nothing.
	Beside string `json:"beside,omitempty"`
	// Pattern is what the last answer named for the next call (seed 001, 10).
	Pattern string `json:"pattern,omitempty"`
	// Past are the ids of earlier turns, oldest first; Evidence are results of tools of earlier turns.
	Past     []string   `json:"past,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// ToolCalls are those that are charged to the open turn (C67), Denied the hashes of calls that a person denied since their last
	// message (S28), Unknown those of calls of which nobody knows what became (C49), Recent the hashes of the last calls (loops).
	ToolCalls int      `json:"tool_calls,omitempty"`
	Denied    []string `json:"denied,omitempty"`
	Unknown   []string `json:"unknown,omitempty"`
	Recent    []string `json:"recent,omitempty"`
	// Over are the calls that the model wanted since the last message of a person and that a budget refused: they were not made, and are charged to nothing.
	Over int `json:"over_budget,omitempty"`
	// Worked is how long the session has worked for the last message of a person, by the clock of the ledger: while it waited for decisions, for a
	// folder or for its client it did not, nor until another process has taken it over.
	Worked time.Duration `json:"worked_ns,omitempty"`
	// Executed are the calls that have begun in the task, oldest first, and how each ended: what a result is judged by (S5).
	Executed []canon.Executed `json:"executed,omitempty"`
	// Sender is who sent the message of the open turn, and Senders those of messages that wait. An empty name is nobody's: an event's, or a
	// program's that has a token of the session.
	Sender  string   `json:"sender,omitempty"`
	Senders []Sender `json:"senders,omitempty"`
	// Speakers are the persons who wrote last, latest last.
	Speakers []Speaker `json:"speakers,omitempty"`
	// Made is how the last answer of the open turn was made.
	Made Made `json:"made,omitzero"`
	// Snapshot: the text that has the files and skills of its prompts is there.
	Snapshot bool `json:"snapshot,omitempty"`
	// Shown are the nodes that the model was shown because it asked for them, in the whole session; ShownNow those of the open turn.
	Shown    int `json:"shown,omitempty"`
	ShownNow int `json:"shown_now,omitempty"`
}

// Made is how an answer was made. Zero values are not known.
type Made struct {
	Backend llm.Identity `json:"backend,omitzero"`
	// Prompt is the SHA-256 of what the model was sent, in hex; MaxTokens the most of an answer.
	Prompt    string `json:"prompt,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
	// Tokens, and the times of the server. CachedTokens are those of the prompt that it knew already.
	PromptTokens int           `json:"prompt_tokens,omitempty"`
	CachedTokens int           `json:"cached_tokens,omitempty"`
	AnswerTokens int           `json:"answer_tokens,omitempty"`
	PromptTime   time.Duration `json:"prompt_time,omitempty"`
	AnswerTime   time.Duration `json:"answer_time,omitempty"`
	Finish       string        `json:"finish,omitempty"`
}

// ByPerson says that a person sent a message that waits or is about to open a turn.
func (t Talk) ByPerson(message string) bool {
	return slices.ContainsFunc(t.Senders, func(s Sender) bool { return s.Message == message })
}

// Sender is who sent a message.
type Sender struct {
	Message string `json:"message"`
	Name    string `json:"name"`
}

// Speaker is a person, and the number of the record of their last message.
type Speaker struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
}

// Spoke keeps when somebody wrote.
func (t *Talk) Spoke(name string, seq int64) {
	kept := slices.DeleteFunc(slices.Clone(t.Speakers), func(s Speaker) bool { return s.Name == name })
	kept = append(kept, Speaker{name, seq})
	t.Speakers = kept[max(0, len(kept)-MaxSpeakers):]
}

// Since is the number of the record of somebody's last message; 0 where that is not known.
func (t *Talk) Since(name string) int64 {
	for _, s := range t.Speakers {
		if s.Name == name {
			return s.Seq
		}
	}
	return 0
}

// IntentText is the id of the text that a call's INTENT is, as JSON of a router.Intent.
func IntentText(call string) string { return call + "/intent" }

// Message is one of the open turn. Text is the id of its text.
type Message struct {
	Role string `json:"role"`
	Text string `json:"text"`
	// Calls are those of an assistant, CallID that which a tool answers.
	Calls  []Named `json:"calls,omitempty"`
	CallID string  `json:"call_id,omitempty"`
}

// Named is a call of an assistant: its arguments are the text of the id.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Evidence is a text that a later prompt may show.
type Evidence struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}
