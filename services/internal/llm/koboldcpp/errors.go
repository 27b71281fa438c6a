package koboldcpp

import (
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// words reads the body of a refusal. A request that cannot be read is answered with 500, of all statuses.
func words(body []byte) wire.Words {
	var told struct {
		Detail struct {
			Message string `json:"msg"`
			Type    string `json:"type"`
		} `json:"detail"`
	}
	if json.Unmarshal(body, &told) != nil {
		return wire.Words{}
	}
	w := wire.Words{Message: told.Detail.Message}
	if told.Detail.Type == "bad_input" {
		w.Fault = llm.FaultRefused
	}
	return w
}
