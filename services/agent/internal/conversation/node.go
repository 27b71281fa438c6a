package conversation

import (
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// The roles of a node's texts.
const (
	roleUser      = string(llm.RoleUser)
	roleAssistant = string(llm.RoleAssistant)
)

// Task is what the record of a node says that the model was asked to do.
const Task = "SESSION"

// Bounds of what flowstore takes: a title in characters (it takes more, which nobody reads), a reason in bytes.
const (
	maxTitle = 80
	maxError = 4 << 10
)

// node is a turn as flowstore keeps it.
func (x Exchange) node(id uuid.UUID) generation.Node {
	n := generation.Node{ID: id, Model: x.Made.Backend.Model, Texts: []generation.NodeText{{Role: roleUser, Content: x.User}}}
	if x.Reply != "" {
		n.Texts = append(n.Texts, generation.NodeText{Role: roleAssistant, Content: x.Reply, Tokens: x.Made.AnswerTokens, Duration: x.Made.AnswerTime})
	}
	if x.Made == (ledger.Made{}) && x.Error == "" {
		return n // Nobody made anything: what stands there a person wrote.
	}
	n.Record = &generation.Record{
		Backend: x.Made.Backend, PromptDigest: x.Made.Prompt, Task: Task, Sampling: llm.Sampling{MaxTokens: x.Made.MaxTokens},
		PromptTokens: x.Made.PromptTokens, CachedTokens: x.Made.CachedTokens, AnswerTokens: x.Made.AnswerTokens,
		PromptTime: x.Made.PromptTime, AnswerTime: x.Made.AnswerTime,
		Finish: generation.Finish(x.Made.Finish), Error: passage.Bytes.Head(x.Error, maxError),
	}
	if x.Finish != "" {
		n.Record.Finish = generation.Finish(x.Finish)
	}
	return n
}

// title is what people call the flow of a session: its goal, else what was said first in it.
func title(s ledger.Session, x Exchange) string {
	for _, text := range []string{s.Items.Goal, x.User} {
		if text = passage.Line(text); text != "" {
			return passage.Cap(text, maxTitle)
		}
	}
	return passage.Cap("sessions/"+s.ID, maxTitle)
}
