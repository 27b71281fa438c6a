package transport

import (
	"strings"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// bounded notes a block that no rule may bound; one that is not given is told already.
func bounded(f *apierr.Fields, field string, kind promptbuilderv1.BlockKind) {
	var names []string
	for _, k := range story.Bounded() {
		if kinds[k] == kind {
			return
		}
		names = append(names, kinds[k].String())
	}
	if !f.Has(field) {
		f.Add(field, "must be one of %s, and is %s", strings.Join(names, ", "), kind)
	}
}

func toRules(rules []*promptbuilderv1.BlockRule) []story.Rule {
	var all []story.Rule
	for _, r := range rules {
		rule := story.Rule{
			Kind: story.Kind(word(r.GetKind(), "BLOCK_KIND_")), Min: int(r.GetMinTokens()), Max: int(r.GetMaxTokens()),
			Trim: story.Trim(word(r.GetTrim(), "BLOCK_TRIM_")),
		}
		if r != nil {
			rule.Priority = whole(r.Priority)
		}
		all = append(all, rule)
	}
	return all
}

func fromRules(rules []story.Rule) []*promptbuilderv1.BlockRule {
	var all []*promptbuilderv1.BlockRule
	for _, r := range rules {
		rule := &promptbuilderv1.BlockRule{
			Kind: kinds[r.Kind], MinTokens: int32(r.Min), MaxTokens: int32(r.Max),
			Trim: promptbuilderv1.BlockTrim(number(promptbuilderv1.BlockTrim_value, "BLOCK_TRIM_", string(r.Trim))),
		}
		if r.Priority != nil {
			priority := int32(*r.Priority)
			rule.Priority = &priority
		}
		all = append(all, rule)
	}
	return all
}
