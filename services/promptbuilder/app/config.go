package app

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/presets"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/promptsfile"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// Config are the settings of promptbuilder: what stands in for what a request leaves open.
type Config struct {
	// Backend is a name in the backends file; empty for the file's own default.
	Backend string `yaml:"default_backend" help:"backend of requests that name none; empty: the default of the backends file"`
	// Presets is a path; empty for the preset of each wrapping alone.
	Presets string `yaml:"presets" help:"presets file (docs/story-prompt.md); empty: one preset for each wrapping"`
	// Prompts is a path; empty for no folders, no sections and the defaults of docs/system-prompt.md.
	Prompts string `yaml:"prompts" help:"prompts file (docs/system-prompt.md): folders, sections and defaults of system prompts; empty: none"`
	// MaxTokens are kept free for the continuation of a story, IdeaTokens for an idea, AutocompleteTokens for the rest of a line.
	MaxTokens          int `yaml:"default_max_tokens" help:"tokens kept free for the answer where a request does not say"`
	IdeaTokens         int `yaml:"default_max_tokens_idea" help:"the same for an idea"`
	AutocompleteTokens int `yaml:"default_max_tokens_autocomplete" help:"the same for the completion of a line"`
	// Rating is general or r18.
	Rating string `yaml:"default_rating" help:"rating of stories that name none: general or r18"`
	// Slack is in percent.
	Slack int `yaml:"default_slack_percent" help:"how much of the limit a cut may leave unused so that it stays while the text grows, 0 to 75"`
}

// DefaultConfig keeps 250 tokens for an answer, 500 for an idea and 64 for a line, as the program of seed 000 does
// (field/wannabe.md 1.5).
func DefaultConfig() Config {
	return Config{MaxTokens: 250, IdeaTokens: 500, AutocompleteTokens: 64, Rating: story.RatingGeneral}
}

// maxMaxTokens is the largest default; no window is that large.
const maxMaxTokens = 1 << 20

// CheckBackend finds a default_backend that the backends file does not have. prefix stands before the key; a set that could
// not be read, nil, is told by whoever read it.
func (c Config) CheckBackend(p *config.Problems, prefix string, set *backends.Set) {
	if set == nil {
		return
	}
	if _, err := set.Counter(c.Backend); err != nil {
		p.Add(prefix+"default_backend", "%v", err)
	}
}

// Check finds settings that cannot be, and what is wrong with the presets file.
func (c Config) Check(p *config.Problems) {
	_, err := presets.Load(c.Presets)
	p.AddFile("presets", c.Presets, err)
	_, err = promptsfile.Load(c.Prompts)
	p.AddFile("prompts", c.Prompts, err)
	for _, length := range []struct {
		key    string
		tokens int
	}{
		{"default_max_tokens", c.MaxTokens}, {"default_max_tokens_idea", c.IdeaTokens}, {"default_max_tokens_autocomplete", c.AutocompleteTokens},
	} {
		if length.tokens < 1 || length.tokens > maxMaxTokens {
			p.Add(length.key, "must be from 1 to %d, is %d", maxMaxTokens, length.tokens)
		}
	}
	if c.Slack < 0 || c.Slack > story.MaxSlack {
		p.Add("default_slack_percent", "must be from 0 to %d, is %d", story.MaxSlack, c.Slack)
	}
	if c.Rating != story.RatingGeneral && c.Rating != story.RatingR18 {
		p.Add("default_rating", "must be %q or %q, is %q", story.RatingGeneral, story.RatingR18, c.Rating)
	}
}
