package ledger

// Bounds of what a session keeps of its conversation beside the texts themselves, in entries.
const (
	MaxPast     = 5
	MaxEvidence = 8
	// MaxHashes are the calls that a person denied, and those of which nobody knows what became, that are kept.
	MaxHashes = 64
)

// Talk is what a session keeps of its conversation: the ids of texts, never the texts.
type Talk struct {
	// Messages are those of the open turn, oldest first.
	Messages []Message `json:"messages,omitempty"`
	// Owed are the calls of the last answer, in their order, whose results the model has not got yet (C69).
	Owed []Named `json:"owed,omitempty"`
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
}

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
