package presets

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// entry is a preset as the file has it; its keys are the names of the fields of a request.
type entry struct {
	Wrapping   wrapping          `yaml:"wrapping"`
	Fit        story.Fit         `yaml:"fit"`
	TrimTo     int               `yaml:"max_main_text_chars"`
	Finest     place             `yaml:"cut_granularity"`
	Slack      *int              `yaml:"slack_percent"`
	Order      story.Order       `yaml:"block_order"`
	NoteHeader story.NoteHeader  `yaml:"note_header"`
	NoteDepth  int               `yaml:"note_depth"`
	MaxTokens  int               `yaml:"max_tokens"`
	Sampling   sampling.Sampling `yaml:"sampling"`
	Blocks     []rule            `yaml:"blocks"`
}

// wrapping is a story.Wrapping, field by field.
type wrapping struct {
	Name              string   `yaml:"name"`
	BOS               string   `yaml:"bos"`
	BeforeInstruction string   `yaml:"before_instruction"`
	BeforeInput       string   `yaml:"before_input"`
	AfterInput        string   `yaml:"after_input"`
	BeforeSuffix      string   `yaml:"before_suffix"`
	Stop              []string `yaml:"stop"`
}

// rule is a story.Rule, field by field.
type rule struct {
	Kind     story.Kind `yaml:"kind"`
	Min      int        `yaml:"min_tokens"`
	Max      int        `yaml:"max_tokens"`
	Priority *int       `yaml:"priority"`
	Trim     story.Trim `yaml:"trim"`
}

// place is a fit.Place by its name.
type place fit.Place

// UnmarshalText reads line, sentence or character. The error names them.
func (p *place) UnmarshalText(text []byte) error {
	known, ok := map[string]fit.Place{"line": fit.Line, "sentence": fit.Sentence, "character": fit.Character}[string(text)]
	if !ok {
		return fmt.Errorf("is %.40q; it must be line, sentence or character", text)
	}
	*p = place(known)
	return nil
}

// preset is what the entry of a name says.
func (e entry) preset(name string) story.Preset {
	p := story.Preset{
		Name: name, Wrapping: story.Wrapping(e.Wrapping), Fit: e.Fit, TrimTo: e.TrimTo, Finest: fit.Place(e.Finest), Slack: e.Slack, Order: e.Order,
		NoteHeader: e.NoteHeader, NoteDepth: e.NoteDepth, MaxTokens: e.MaxTokens, Sampling: e.Sampling,
	}
	for _, r := range e.Blocks {
		p.Blocks = append(p.Blocks, story.Rule(r))
	}
	return p
}
