package app

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// maxGrammar is how large a grammar may be, in bytes, as in a request (Sampling.grammar).
const maxGrammar = 64 << 10

// SummariesConfig are the settings of summaries (field/systemprompt-rules.md 5).
type SummariesConfig struct {
	// Background makes summaries unasked, of the nodes of Namespaces, with Backend and Locale.
	Background bool     `yaml:"background" help:"make summaries of nodes as they are stored and changed, unasked"`
	Namespaces []string `yaml:"namespaces" help:"namespaces that are summarised in the background"`
	Backend    string   `yaml:"backend" help:"backend that makes summaries in the background; empty: the default one"`
	Locale     string   `yaml:"locale" help:"language of summaries in the background, such as ja or en"`
	// Parallel is how many nodes are worked on at once.
	Parallel int `yaml:"parallel" help:"nodes that are summarised at once, by all calls and in the background"`
	// Ask is how long one reply may take.
	Ask time.Duration `yaml:"ask" help:"how long a model may take for one summary"`
	// MaxTokens and the others are summary.Numbers.
	MaxTokens     int `yaml:"max_tokens" help:"tokens of a reply with a summary"`
	Again         int `yaml:"again" help:"how often a model is asked again after a bad reply"`
	MinWords      int `yaml:"min_words" help:"words that a summary is asked to have at least; a third of it is taken"`
	MaxWords      int `yaml:"max_words" help:"words that a summary is asked to have at most; twice as many are taken"`
	MinCharacters int `yaml:"min_characters" help:"characters instead of words, in a Japanese summary"`
	MaxCharacters int `yaml:"max_characters" help:"characters instead of words, in a Japanese summary"`
	MinTags       int `yaml:"min_tags" help:"tags that a reply must have"`
	MaxTags       int `yaml:"max_tags" help:"tags that are kept"`
	TagCharacters int `yaml:"tag_characters" help:"characters that a tag may have"`
	TokenLimit    int `yaml:"token_limit" help:"most tokens of a summary; 0: any"`
	// Grammar is for servers that have that knob.
	Grammar string `yaml:"grammar" help:"grammar (GBNF) that replies with summaries follow, for small models; empty: none"`
}

func defaultSummaries() SummariesConfig {
	n := summary.DefaultNumbers()
	return SummariesConfig{
		Namespaces: []string{namespace.Default}, Locale: "ja", Parallel: 2, Ask: 10 * time.Minute,
		MaxTokens: n.MaxTokens, Again: n.Again, MinWords: n.MinWords, MaxWords: n.MaxWords,
		MinCharacters: n.MinCharacters, MaxCharacters: n.MaxCharacters,
		MinTags: n.MinTags, MaxTags: n.MaxTags, TagCharacters: n.TagCharacters, TokenLimit: n.TokenLimit,
	}
}

func (c SummariesConfig) numbers() summary.Numbers {
	return summary.Numbers{
		MinWords: c.MinWords, MaxWords: c.MaxWords, MinCharacters: c.MinCharacters, MaxCharacters: c.MaxCharacters,
		MinTags: c.MinTags, MaxTags: c.MaxTags, TagCharacters: c.TagCharacters, TokenLimit: c.TokenLimit,
		MaxTokens: c.MaxTokens, Again: c.Again, Grammar: c.Grammar,
	}
}

// Check finds settings that cannot be.
func (c SummariesConfig) Check(p *config.Problems) {
	for _, n := range []struct {
		key              string
		got, least, most int
	}{
		{"parallel", c.Parallel, 1, 64},
		{"max_tokens", c.MaxTokens, 16, 1 << 14},
		{"again", c.Again, 0, 10},
		{"min_words", c.MinWords, 1, 2000},
		{"max_words", c.MaxWords, 1, 2000},
		{"min_characters", c.MinCharacters, 1, 8000},
		{"max_characters", c.MaxCharacters, 1, 8000}, // flowstore keeps 64 KiB
		{"min_tags", c.MinTags, 1, 64},
		{"max_tags", c.MaxTags, 1, 64}, // flowstore keeps no more
		{"tag_characters", c.TagCharacters, 1, 64},
		{"token_limit", c.TokenLimit, 0, 1 << 14},
	} {
		if n.got < n.least || n.got > n.most {
			p.Add(n.key, "must be from %d to %d, is %d", n.least, n.most, n.got)
		}
	}
	for _, n := range []struct {
		what        string
		least, most int
	}{
		{"words", c.MinWords, c.MaxWords}, {"characters", c.MinCharacters, c.MaxCharacters}, {"tags", c.MinTags, c.MaxTags},
	} {
		if n.most > 0 && n.least > n.most {
			p.Add("min_"+n.what, "must be at most max_%s (%d), is %d", n.what, n.most, n.least)
		}
	}
	if c.Ask <= 0 || c.Ask > 24*time.Hour {
		p.Add("ask", "must be more than 0 and at most 24h, is %s", c.Ask)
	}
	if len(c.Grammar) > maxGrammar {
		p.Add("grammar", "must have at most %d bytes, has %d", maxGrammar, len(c.Grammar))
	}
	for _, ns := range c.Namespaces {
		if !namespace.Valid(ns) {
			p.Add("namespaces", "has %.80q, which is no namespace: 1 to 63 of a-z, 0-9 and -", ns)
		}
	}
	if c.Background && len(c.Namespaces) == 0 {
		p.Add("namespaces", "must name a namespace, or background does nothing")
	}
}
