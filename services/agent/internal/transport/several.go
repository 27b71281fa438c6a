package transport

import (
	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// checkSeveral finds what is wrong with a request for several answers.
func checkSeveral(f *apierr.Fields, q *agentv1.GenerateNodeRequest, l generation.Limits) {
	count(f, "variants", q.GetVariants(), l.Variants)
	count(f, "repeat", q.GetRepeat(), l.Repeat)
	variants, every, repeat := q.GetVariants() != 0, q.GetEveryOption(), q.GetRepeat() != 0
	const alone = "only one of variants, every_option and repeat"
	sampler := q.GetBuild().GetSampler()
	for _, c := range []struct {
		field string
		wrong bool
		why   string
	}{
		{"variants", variants && (every || repeat), alone},
		{"every_option", every && (variants || repeat), alone},
		{"repeat", repeat && (variants || every), alone},
		{"set_current", q.GetSetCurrent() && (variants || every), "not together with variants or every_option: the reader stands at one node"},
		{"build.picks", every && len(q.GetBuild().GetPicks()) > 0, "not together with every_option, which picks every option"},
		{"build.sampler", every && sampler != 0 && sampler != promptbuilderv1.Sampler_SAMPLER_ALL, "must be SAMPLER_ALL or empty with every_option, which picks every option"},
	} {
		if c.wrong {
			f.Add(c.field, "%s", c.why)
		}
	}
}

// count finds a number of answers that is neither left out nor within its limit.
func count(f *apierr.Fields, field string, n int32, limit int) {
	if n != 0 && (n < 2 || int(n) > limit) {
		f.Add(field, "must be from 2 to %d (generation.%s of the agent), or 0 for one answer, is %d", limit, field, n)
	}
}
