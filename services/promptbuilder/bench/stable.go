package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/counters"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/models"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/roots"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt/prefixtest"
)

// systems makes system prompts without folders.
func systems(servers story.Backends) *sysprompt.Builder {
	return sysprompt.NewBuilder(roots.New(nil), counters.New(story.NewBuilder(servers, nil, story.Defaults{})), sysprompt.Defaults{})
}

// buildSystem makes the prompt of a request.
func buildSystem(b *sysprompt.Builder, r sysprompt.Request) (sysprompt.Prompt, error) {
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		return sysprompt.Prompt{}, fmt.Errorf("%v", wrong)
	}
	return b.Build(context.Background(), r)
}

// stableCounts compares a second build of a system prompt with its first one, for which a model server counts everything.
func stableCounts(s *slot) (benchtable.Row, error) {
	size := prefixtest.Real()
	size.Skills = 30
	row := benchtable.Row{
		Ours: fmt.Sprintf("a system prompt of %d tools, %d skills and 7 files, built again", size.Tools, size.Skills), Peer: "its first build, for which the server counts",
		Unit: "ms", Goal: benchtable.AtMost(0.1),
	}
	set, err := backends.Parse(fmt.Appendf(nil, "default: server\nbackends:\n  server: {kind: llamacpp, address: %q}\n", s.server.URL()))
	if err != nil {
		return row, err
	}
	defer set.Close() //nolint:errcheck // connections that are left alone end by themselves
	servers, err := models.New(set, "", prometheus.NewRegistry())
	if err != nil {
		return row, err
	}
	turn := sysprompt.Custom{ID: "turn", Text: "The first turn.", Class: sysprompt.Volatile}
	r := size.Request()
	r.Backend, r.Sections = "server", append(r.Sections, turn)
	changed := r
	turn.Text = "二回目の発言は少し長い"
	changed.Sections = append(slices.Clone(r.Sections[:len(r.Sections)-1]), turn)
	var built []sysprompt.Prompt
	warm := systems(servers)
	for _, r := range []sysprompt.Request{r, r, changed} {
		p, err := buildSystem(warm, r)
		if err != nil {
			return row, err
		}
		built = append(built, p)
	}
	build := func(b func() *sysprompt.Builder) func() (float64, error) {
		return func() (ms float64, wrong error) {
			ms = 1000 * elapsed(func() { _, wrong = buildSystem(b(), r) })
			return ms, wrong
		}
	}
	err = row.Measure(build(func() *sysprompt.Builder { return warm }), build(func() *sysprompt.Builder { return systems(servers) }))
	none := benchtable.AtMost(0)
	// It is counted alone, and with the blank line before it.
	alone := benchtable.AtMost(float64(2*len([]rune(turn.Text)) + len("\n\n")))
	row.Facts = []benchtable.Fact{
		{Name: "tokens of the prompt", Figure: float64(built[0].Tokens)},
		{Name: "texts counted for the first build", Figure: float64(built[0].Counts)}, {Name: "their characters", Figure: float64(built[0].Sent)},
		{Name: "characters counted for the second", Figure: float64(built[1].Sent), Goal: &none},
		{Name: "characters counted where a section of 11 below the boundary changed", Figure: float64(built[2].Sent), Goal: &alone},
	}
	return row, err
}
