package write

import (
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// totals are what a session made and what it cost.
type totals struct {
	// answers are those that are stored; broke those of which some was shown, and nothing is known to be stored.
	answers, broke int
	// read and cached are tokens of prompts; untold is of how many answers the model server did not tell them.
	read, cached, untold int
	// counts and characters are what finding the cuts took.
	counts, characters int
}

// answer adds what an answer cost.
func (t *totals) answer(s *agentv1.Stored) {
	if s.PromptTokensRead == nil {
		t.untold++
	}
	t.read += int(s.GetPromptTokensRead())
	t.cached += int(s.GetPromptTokensCached())
}

// prompt adds what a prompt cost.
func (t *totals) prompt(b *promptbuilderv1.BuildStoryResponse) {
	t.counts += int(b.GetCountsUsed())
	t.characters += int(b.GetCharactersSent())
}

// round adds what is left of a round that is over.
func (t *totals) round(r *round) {
	for _, a := range r.answers {
		switch {
		case a.node != "":
			t.answers++
		case a.unstored():
			t.broke++
		}
	}
}

func (t *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "合計 in all: 答え %d answers、プロンプト prompt tokens: 読み直し %d read again、キャッシュ %d cached", t.answers, t.read, t.cached)
	if t.untold > 0 {
		fmt.Fprintf(&b, " (%d 件は不明 answers not told)", t.untold)
	}
	fmt.Fprintf(&b, "、数えた回数 %d counts、送った字 %d characters sent", t.counts, t.characters)
	return b.String()
}
