package wire

import (
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// Agrees refuses a vocabulary of ours that cuts Probe into other tokens than the server did, which are given: it is another
// model's. Without one, nil, there is nothing to refuse.
func (s *Server) Agrees(t *tokenizer.Tokenizer, ids []int) error {
	if t == nil || slices.EqualFunc(t.Append(nil, Probe, tokenizer.Prompt), ids, func(ours int32, its int) bool { return int(ours) == its }) {
		return nil
	}
	return s.Fault(llm.FaultProtocol, nil, "the vocabulary in the backends file (`tokenizer`) cuts a text into other tokens than the server: it is another model's")
}
