package transport

import (
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// build reads what is passed on to promptbuilder. The same message has the same bytes, since the digest of a request is
// made of them.
func build(f *apierr.Fields, q *agentv1.GenerateNodeRequest) []byte {
	b := q.GetBuild()
	if b == nil {
		if q.GetSendOverflow() {
			f.Add("send_overflow", "only together with build, whose fit or on_overflow lets a prompt be over the limit")
		}
		return nil
	}
	for _, c := range []struct {
		field, instead string
		given          bool
	}{
		{"backend", "`backend` beside it names it", b.GetBackend() != ""},
		{"story", "`story` beside it overrides the flow's", b.GetStory() != nil},
		{"body", "it is the text of the path", b.GetBody() != ""},
		{"block_order", "`block_order` beside it is used", b.GetBlockOrder() != 0},
		{"note_header", "`note_header` beside it is used", b.GetNoteHeader() != 0},
		{"seed", "`pick_seed` beside it is used", b.GetSeed() != 0},
		{"max_tokens", "`sampling.max_tokens` is used", b.GetMaxTokens() != 0},
		{"sampling", "`sampling` beside it is used", b.GetSampling() != nil},
		{"lenient_body", "it holds here wherever it can", b.GetLenientBody()},
	} {
		if c.given {
			f.Add("build."+c.field, "must be empty: %s", c.instead)
		}
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		f.Add("build", "%v", err)
	}
	return text
}
