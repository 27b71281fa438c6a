package app

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// Config are the settings of promptbuilder: what stands in for what a request leaves open.
type Config struct {
	// Backend is a name in the backends file; empty for the file's own default.
	Backend string `yaml:"default_backend" help:"backend of requests that name none; empty: the default of the backends file"`
	// MaxTokens are kept free for an answer.
	MaxTokens int `yaml:"default_max_tokens" help:"tokens kept free for the answer where a request does not say"`
	// Rating is general or r18.
	Rating string `yaml:"default_rating" help:"rating of stories that name none: general or r18"`
	// Slack is in percent.
	Slack int `yaml:"default_slack_percent" help:"how much of the limit a cut may leave unused so that it stays while the text grows, 0 to 75"`
}

// DefaultConfig keeps 250 tokens for an answer, as the program of seed 000 does (field/wannabe.md 1.5).
func DefaultConfig() Config { return Config{MaxTokens: 250, Rating: story.RatingGeneral} }

// maxMaxTokens is the largest default; no window is that large.
const maxMaxTokens = 1 << 20

// Check finds settings that cannot be.
func (c Config) Check(p *config.Problems) {
	if c.MaxTokens < 1 || c.MaxTokens > maxMaxTokens {
		p.Add("default_max_tokens", "must be from 1 to %d, is %d", maxMaxTokens, c.MaxTokens)
	}
	if c.Slack < 0 || c.Slack > story.MaxSlack {
		p.Add("default_slack_percent", "must be from 0 to %d, is %d", story.MaxSlack, c.Slack)
	}
	if c.Rating != story.RatingGeneral && c.Rating != story.RatingR18 {
		p.Add("default_rating", "must be %q or %q, is %q", story.RatingGeneral, story.RatingR18, c.Rating)
	}
}
