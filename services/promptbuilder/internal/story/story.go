// Package story makes the prompt that continues a novel (seed 000), and makes it fit the window of a model server.
//
// Pure but for a Counter: the same request against the same server gives the same bytes. Nothing is altered silently:
// whatever of the text is not in the prompt, the reply says.
//
// Where seed 000 and the program that it describes disagree, field/wannabe.md 1.1 decides: the text is split as a whole
// (D1), FIT_NONE reports an overflow (D2), dynamic prompts are drawn once (D3), a cut never begins before the text (D4),
// metadata alone can overflow (D5), a budget without room is an error (D6), a failed count is one (D7), so is a window
// that the server does not tell (D8), and the task is that of the whole text (D10).
package story

import (
	"context"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// Work is what a writer fixes about a work, beside its text.
type Work struct {
	Title, Synopsis, Setting, Plot string
	Keywords, Genres               []string
	// Note is a wish for what comes next; it reaches the prompt only when a text is continued (seed 000, 2.6.2).
	Note string
	// DialogueLevel counts as metadata by being there, even when empty (field/wannabe.md 1.3). Never drawn from.
	DialogueLevel *string
	// Summary tells in short what came before the text, Memory what the model should keep in mind. Neither is drawn from; they
	// count as metadata, and have no place in an idea.
	Summary, Memory string
	// Rating is RatingGeneral, RatingR18 or empty for the default; with Request.Compat it is any word.
	Rating string
}

// The ratings (seed 000, 2.5).
const (
	RatingGeneral = "general"
	RatingR18     = "r18"
)

// Mode is what the writer wants.
type Mode int

// The modes.
const (
	// Generate writes a novel on, or begins it.
	Generate Mode = iota
	// Idea asks for title, keywords, genres, synopsis, setting and plot; body and note are not used.
	Idea
	// Autocomplete goes on right behind the last end of line, whatever stands there.
	Autocomplete
)

// Sampler says how options are taken of groups.
type Sampler int

// The samplers.
const (
	// Random draws by seed and weights.
	Random Sampler = iota
	// Cyclic takes the options in turn, with the seed as the turn.
	Cyclic
	// All takes the first combination, and tells every one.
	All
)

// Request asks for the prompt of one continuation.
type Request struct {
	Mode Mode
	// Compat does what the program of seed 000 does where that differs, faults and all.
	Compat bool
	// Backend is a name in the backends file; empty for the default.
	Backend string
	Work    Work
	// Body is the text so far, verbatim.
	Body string
	// LenientBody takes a malformed group in the body for text and tells of it; else it is an error.
	LenientBody bool
	// Preset is the name of the one that Prepare put in the place of what the request leaves open; empty for none.
	Preset string
	// Unused are what Prepare found to be given in vain; the prompt tells it.
	Unused []Warning
	// Order is that of the text and the story fields; empty: ReferenceFirst.
	Order Order
	// NoteHeader stands over the author's note; empty: NoteHeaderDefault.
	NoteHeader NoteHeader
	// MaxTokens are kept free for the answer; 0 for the default.
	MaxTokens int
	// NoteDepth is how many lines of the text stand behind the author's note, the suffix among them; 0: tailLines without it,
	// as nil is where no preset says otherwise.
	NoteDepth *int
	// Fit is what happens to a prompt that is too large; empty: FitLines.
	Fit Fit
	// TrimTo is how many characters (code points) FitCharTrim keeps of a body that is too large; 0: DefaultTrim.
	TrimTo int
	// Finest is how fine the places are that a cut may always lie at; the zero value is fit.Line.
	Finest fit.Place
	// Slack is how much of the limit a cut may leave unused, in percent, so that it stays where it is while the text grows;
	// nil for the default.
	Slack *int
	// State is that of an earlier prompt, whose cut is kept while the prompt fits there and uses half of the limit.
	State string
	// ReturnOver gives the smallest prompt where even that is over the limit, and says so; else it is an error.
	ReturnOver bool
	// Wrapping is the form in which the model is asked: a name of Wrappings, empty for the default, or a custom one.
	Wrapping Wrapping
	// Blocks bound blocks; those without a rule stand as rules says.
	Blocks []Rule
	// TextPercent is the share of the limit that the text should have to itself; 0: defaultTextPercent.
	TextPercent int
	// Sampling is how the answer should be drawn; it is given back in Prompt.Held.
	Sampling sampling.Sampling
	// Neutralize makes text of what looks like a control token or a fence in the texts; else that is only told.
	Neutralize bool
	Sampler    Sampler
	// Seed is that of the draws.
	Seed uint32
	// Sets are named lists of options for `{@name}`.
	Sets dynamic.Sets
	// Picks are taken again, as an earlier prompt told them; the rest is drawn.
	Picks []Pick
}

// Prompt is a prompt and everything there is to know about it.
type Prompt struct {
	Text string
	// Digest is the SHA-256 of Text in hex.
	Digest string
	Task   Task
	// Suffix is how many characters (code points) at the end of Text are the beginning of the answer.
	Suffix int
	// Blocks are the parts of Text in its order; their tokens add up to Tokens.
	Blocks []Block
	// Tokens is what the server counted for the very string in Text, Limit the most that it may have.
	Tokens, Limit int
	MaxTokens     int
	Rating        string
	Wrapping      Wrapping
	// Held is everything that a preset can hold, as it held.
	Held Preset
	// Cut is what was left out, nil when nothing was.
	Cut *Cut
	// Overflow says that Tokens is over Limit; only with FitNone or Request.ReturnOver.
	Overflow bool
	// State names the line that the text begins with after a cut at a line; empty where nothing was cut, or not there.
	State string
	// Counts is how often the server was sent a text to count, Sent how many characters (code points) these had: as often as
	// they went out, with the short text of the tokenizer's fingerprint, without a count that another build had asked for.
	Counts, Sent int
	// Slack is the one that held.
	Slack    int
	Warnings []Warning
	Seed     uint32
	Picks    []Pick
	// Combinations are the picks of all combinations of options, with Sampler All; Some says that there are more.
	Combinations [][]Pick
	Some         bool
	Backend      Backend
}

// Kind is a part of a prompt.
type Kind string

// The parts, each with the marks, fences and line end that belong to it.
const (
	KindInstruction Kind = "instruction"
	KindReference   Kind = "reference"
	KindBody        Kind = "body"
	KindNote        Kind = "note"
	KindTail        Kind = "tail"
	KindSuffix      Kind = "suffix"
	KindSummary     Kind = "summary"
	KindMemory      Kind = "memory"
)

// Block is the size of one part.
type Block struct {
	Kind Kind
	// Tokens that begin in the part; a BOS token begins in the first.
	Tokens int
	// Characters are code points.
	Characters int
	// Estimated: the server tells no token borders, and the tokens are shared out by characters.
	Estimated bool
	// CutCharacters and CutLines are left out of a pinned block that was trimmed, in code points and line ends; Limit is what
	// it could have, in tokens.
	CutCharacters, CutLines, Limit int
}

// Cut is what was left out of the head of the body.
type Cut struct {
	// Characters and Lines left out, in code points and whole lines; KeptCharacters are those after the cut.
	Characters, Lines, KeptCharacters int
	// FirstKept is the first line after the cut that is not blank, at most 80 characters of it.
	FirstKept string
}

// Pick is what was taken of one group of a field.
type Pick struct {
	// Field is its path in the request, such as `story.keywords[1]`.
	Field string
	dynamic.Pick
}

// Backend says what a prompt was measured with: the name in the backends file, the kind of server, its address, and the
// model as the server names it.
type Backend struct {
	Backend, Kind, Address, Model string
	// Window is how many tokens prompt and answer may have together.
	Window int
	// Tokenizer is a hash of how the server cuts a fixed text into tokens.
	Tokenizer string
}

// tokenizer names what cuts text into tokens.
func (b Backend) tokenizer() string {
	return b.Kind + " " + b.Address + " " + b.Model + " " + b.Tokenizer
}

// Counter says how large a text is for one model server. Safe for concurrent use.
type Counter interface {
	fit.Counter
	// Window asks the server who it is and how much it holds, afresh at each call.
	Window(ctx context.Context) (Backend, error)
	// Local says that counting asks no server.
	Local() bool
	// Estimates says that counts are estimates, which are rather too high than too low.
	Estimates() bool
}

// Backends knows the model servers by name; the empty name is the default. An unknown one is an *llm.UnknownBackendError.
type Backends interface {
	Counter(name string) (Counter, error)
	// List gives all of them, by name, without asking any.
	List() []Listed
}

// Listed is a backend as its file tells it.
type Listed struct {
	Name, Kind string
	// Default: the empty name means it.
	Default bool
	// CountsHere: texts are counted here, and the server is not asked.
	CountsHere bool
	// Estimates: nobody counts, and the figures are estimates.
	Estimates bool
	// Borders: it is known where tokens begin, so that blocks are told exactly.
	Borders bool
	// Knobs are what the server can be told about sampling.
	Knobs []string
}
