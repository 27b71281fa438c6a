package llm_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

func TestRefusalsSayWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`there is no backend "x"; the backends file has: a, b`: &llm.UnknownBackendError{Name: "x", Known: []string{"a", "b"}},
		"max_tokens is 250 and the window of the backend is 200 tokens: max_tokens must be smaller, so that a prompt has room": &llm.BudgetError{
			Window: 200, MaxTokens: 250,
		},
		"what may not be cut of the prompt has 7 tokens, and the window less max_tokens leaves 5: 2 too many": &llm.OverflowError{
			Limit: 5, Tokens: 7,
		},
		"what may not be cut of the prompt has 7 tokens (instruction 3, note 4), and the window less max_tokens leaves 5: 2 too many": &llm.OverflowError{
			Limit: 5, Tokens: 7, Blocks: []llm.BlockSize{{Kind: "instruction", Tokens: 3}, {Kind: "note", Tokens: 4}},
		},
	} {
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
}
