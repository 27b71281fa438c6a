package write

import (
	"fmt"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// totals are what a session made and what it cost.
type totals struct {
	// answers are those that are stored; broke those of which some was shown, and nothing is known to be stored.
	answers, broke int
	// read and cached are tokens of the prompts of told answers. untold are how often a model was asked and nobody told them:
	// the model server does not, or the answer broke off.
	read, cached, told, untold int
	// counts and characters are what finding the cuts took.
	counts, characters int
}

// cost is what an answer cost in tokens of its prompt.
type cost struct{ read, cached int }

// costOf is what the end of an answer tells of its cost; nil where the model server does not.
func costOf(s *agentv1.Stored) *cost {
	if s.PromptTokensRead == nil {
		return nil
	}
	return &cost{int(s.GetPromptTokensRead()), int(s.GetPromptTokensCached())}
}

// finding is what finding the cut of a prompt took; empty where that was nothing.
func finding(b *promptbuilderv1.BuildStoryResponse) string {
	if b.GetCountsUsed() == 0 {
		return ""
	}
	return fmt.Sprintf("数えた回数 counts: %d、送った字 characters sent: %d", b.GetCountsUsed(), b.GetCharactersSent())
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
		t.answers, t.untold = t.answers+a.halves, t.untold+a.tries
		switch {
		case a.cost != nil:
			t.read, t.cached, t.told = t.read+a.cost.read, t.cached+a.cost.cached, t.told+1
		case a.begun():
			t.untold++
		}
	}
}

func (t *totals) String() string {
	tokens := fmt.Sprintf("読み直し %d read again、キャッシュ %d cached", t.read, t.cached)
	switch {
	case t.untold > 0 && t.told == 0:
		tokens = fmt.Sprintf("不明 unknown (%d 件の答え answers)", t.untold)
	case t.untold > 0:
		tokens += fmt.Sprintf(" (ほかに %d 件の分は不明 and an unknown number for %d that broke off or were not told)", t.untold, t.untold)
	}
	return fmt.Sprintf("合計 in all: 答え %d answers、プロンプト prompt tokens: %s、数えた回数 %d counts、送った字 %d characters sent",
		t.answers, tokens, t.counts, t.characters)
}
