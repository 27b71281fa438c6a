package koboldcpp

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// eosToken is the stop_reason of a model that ended its text.
const eosToken = 1

// figures adds what an answer that ended well had in tokens. The stream does not tell, and /api/extra/perf tells it of the
// last generation of whomever, which is this one when it had its seed. Else the text is counted, which may be off by a
// token or two; where that fails, too, the figure stays 0: an answer that is whole is not lost over it.
func (c *Client) figures(ctx context.Context, a *answer) {
	var perf struct {
		Tokens *int  `json:"last_token_count"`
		Seed   int32 `json:"last_seed"`
		Reason int   `json:"stop_reason"`
	}
	if a.last {
		err := c.server.Ask(ctx, c.server.WindowLimit(), "/api/extra/perf", nil, &perf, wire.MaxDescription)
		if err == nil && perf.Seed == a.seed && perf.Tokens != nil && *perf.Tokens >= 0 && *perf.Tokens <= a.most {
			a.result.AnswerTokens = *perf.Tokens
			if perf.Reason == eosToken {
				a.result.Finish = llm.FinishStop // also where an old version says `length`
			}
			return
		}
	}
	whole, err := c.count(ctx, string(a.all))
	if err != nil {
		return
	}
	if empty, err := c.count(ctx, ""); err == nil {
		a.result.AnswerTokens = min(max(whole-empty, 0), a.most)
	}
}
