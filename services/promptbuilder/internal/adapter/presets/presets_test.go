package presets_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/presets"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// TestWithoutAFile: there is a preset for each wrapping, and nothing else in it.
func TestWithoutAFile(t *testing.T) {
	t.Parallel()
	all, err := presets.Load("")
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, story.Wrappings()) {
		t.Errorf("presets %v, want one for each of %v", names, story.Wrappings())
	}
	for name, p := range all {
		if diff := cmp.Diff(story.Preset{Name: name, Wrapping: story.Wrapping{Name: name}}, p); diff != "" {
			t.Error(diff)
		}
	}
}

func num[T any](n T) *T { return &n }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "presets.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Parallel()
	all, err := presets.Load(write(t, `
presets:
  novel:
    wrapping: {name: custom, bos: "<s>", before_instruction: "<<", before_input: "\n", after_input: ">>", before_suffix: "**", stop: ["<<"]}
    fit: char_trim
    max_main_text_chars: 4000
    cut_granularity: sentence
    slack_percent: 25
    block_order: text_first
    note_header: legacy
    note_depth: 6
    max_tokens: 300
    sampling: {temperature: 0.8, top_p: 0.9, top_k: 40, min_p: 0.05, repeat_penalty: 1.1, seed: 7, stop: ["。"],
      typical_p: 0.9, top_a: 0.1, tail_free: 0.95, repeat_range: 512, repeat_slope: 0.7, presence_penalty: -0.5, frequency_penalty: 0.5,
      dry: {multiplier: 0.8, base: 1.75, allowed_length: 2, range: 1024, breakers: ["\n", "」"]}, xtc: {probability: 0.5, threshold: 0.1},
      mirostat: {mode: 2, tau: 5, eta: 0.1}, dynamic_temperature: {range: 0.5, exponent: 1}, smoothing: {factor: 0.3, curve: 1},
      logit_bias: [{token: 5, bias: -100}], ban_eos: true, grammar: 'root ::= "はい"'}
    blocks:
      - {kind: memory, min_tokens: 10, max_tokens: 300, priority: 5, trim: top}
  gemma: {max_tokens: 64}
`))
	if err != nil {
		t.Fatal(err)
	}
	temperature, topP, topK, minP, penalty, seed, slack, priority := 0.8, 0.9, 40, 0.05, 1.1, uint32(7), 25, 5
	want := story.Preset{
		Name:     "novel",
		Wrapping: story.Wrapping{Name: "custom", BOS: "<s>", BeforeInstruction: "<<", BeforeInput: "\n", AfterInput: ">>", BeforeSuffix: "**", Stop: []string{"<<"}},
		Fit:      story.FitCharTrim, TrimTo: 4000, Finest: fit.Sentence, Slack: &slack, Order: story.TextFirst, NoteHeader: story.NoteHeaderLegacy, NoteDepth: 6, MaxTokens: 300,
		Sampling: sampling.Sampling{
			Temperature: &temperature, TopP: &topP, TopK: &topK, MinP: &minP, RepeatPenalty: &penalty, Seed: &seed, Stop: []string{"。"},
			TypicalP: num(0.9), TopA: num(0.1), TailFree: num(0.95), RepeatRange: num(512), RepeatSlope: num(0.7), PresencePenalty: num(-0.5), FrequencyPenalty: num(0.5),
			DRY: &sampling.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Range: 1024, Breakers: []string{"\n", "」"}}, XTC: &sampling.XTC{Probability: 0.5, Threshold: 0.1},
			Mirostat: &sampling.Mirostat{Mode: 2, Tau: 5, Eta: 0.1}, DynamicTemperature: &sampling.DynamicTemperature{Range: 0.5, Exponent: 1},
			Smoothing: &sampling.Smoothing{Factor: 0.3, Curve: 1}, LogitBias: []sampling.Bias{{Token: 5, Bias: -100}}, BanEOS: true, Grammar: `root ::= "はい"`,
		},
		Blocks: []story.Rule{{Kind: story.KindMemory, Min: 10, Max: 300, Priority: &priority, Trim: story.TrimTop}},
	}
	if diff := cmp.Diff(want, all["novel"]); diff != "" {
		t.Errorf("novel (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(story.Preset{Name: "gemma", MaxTokens: 64}, all["gemma"]); diff != "" || all["mistral"].Wrapping.Name != "mistral" {
		t.Errorf("a name of the file stands for itself, the others stay (-want +got):\n%s", diff)
	}
}

func TestProblemsAllAtOnce(t *testing.T) {
	t.Parallel()
	path := write(t, `hosts: 3
presets:
  Upper: {}
  a:
    wrapping: {name: mixtral, stop: [x]}
    fit: squeeze
    cut_granularity: word
    block_order: note_first
    note_header: big
  b: {max_tokens: -1, max_main_text_chars: 10, temperature: 1}
  c:
    wrapping: {name: custom, before_input: x}
    max_tokens: many
    sampling:
      temperature: 6
      top_p: -0.1
      min_p: 2
      top_k: -1
      repeat_penalty: 11
      stop:
        - a
        - ""
  d: {slack_percent: 76}
  e: {max_tokens: 5000000000, fit: char_trim, max_main_text_chars: 5000000}
  f:
    blocks:
      - {kind: memory}
      - {kind: tail, min_tokens: -1}
`)
	_, err := presets.Load(path)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"the presets file " + path + ":",
		"line 1: hosts: unknown key",
		"line 3: presets.Upper: a name is 1 to 63 small letters, digits, dots, dashes and underscores, and begins with a letter or digit",
		`line 7: presets.a.cut_granularity: is "word"; it must be line, sentence or character`,
		`line 6: presets.a.fit: must be one of lines, none, char_trim, and is "squeeze"`,
		`line 8: presets.a.block_order: must be one of reference_first, text_first, and is "note_first"`,
		`line 9: presets.a.note_header: must be one of default, legacy, and is "big"`,
		`line 5: presets.a.wrapping.name: must be one of alpaca, chatml, gemma, llama3, mistral, raw, or custom, and is "mixtral"`,
		"line 5: presets.a.wrapping.stop: is given, but only the wrapping custom takes stop strings of its own",
		"line 10: presets.b.temperature: unknown key",
		"line 10: presets.b.max_tokens: must be 0 for the default or a positive number, and is -1",
		"line 10: presets.b.max_main_text_chars: is given, but only the fit char_trim keeps a number of characters",
		`line 13: presets.c.max_tokens: "many" must be a whole number from -9223372036854775808 to 9223372036854775807`,
		"line 15: presets.c.sampling.temperature: must be from 0 to 5, and is 6",
		"line 16: presets.c.sampling.top_p: must be from 0 to 1, and is -0.1",
		"line 17: presets.c.sampling.min_p: must be from 0 to 1, and is 2",
		"line 19: presets.c.sampling.repeat_penalty: must be from 0 to 10, and is 11",
		"line 18: presets.c.sampling.top_k: must be from 0 to 1000000, and is -1",
		"line 22: presets.c.sampling.stop[1]: must not be empty",
		"line 12: presets.c.wrapping.before_input: must end with a line feed: the blocks of the input stand on lines of their own",
		"line 23: presets.d.slack_percent: must be from 0 to 75, and is 76",
		"line 24: presets.e.max_tokens: must be at most 1048576, and is 5000000000",
		"line 24: presets.e.max_main_text_chars: must be at most 4194304, and is 5000000: no text is longer",
		`line 28: presets.f.blocks[1].kind: must be one of body, summary, memory, note, reference, and is "tail"`,
		"line 28: presets.f.blocks[1].min_tokens: must be 0 or a positive number, and is -1",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for text, want := range map[string]string{
		"": "presets: there are 0; there must be from 1 to 64", "presets: {a: {": "is not YAML", "presets: [a]": "must be a mapping",
	} {
		if _, err := presets.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
	if _, err := presets.Load("/nowhere/presets.yaml"); err == nil || !strings.Contains(err.Error(), "the presets file: open /nowhere/presets.yaml") {
		t.Errorf("the error is %v", err)
	}
}

// TestDocumentation: the example of the page works.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "story-prompt.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 1 {
		t.Fatalf("docs/story-prompt.md has %d YAML blocks, not a presets file", len(blocks))
	}
	if _, err := presets.Load(write(t, blocks[0][1])); err != nil {
		t.Error(err)
	}
}

// FuzzParse: whatever the text says, reading it ends with presets that can be used, or with an error.
func FuzzParse(f *testing.F) {
	f.Add("presets: {a: {wrapping: {name: raw}, sampling: {stop: [b]}}}")
	f.Add("presets: {a: {sampling: {dry: {multiplier: .nan}, logit_bias: [{token: 1}, {token: 1}], xtc: {threshold: 1}}}}")
	f.Add("presets: {a: [1]}")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := presets.Parse([]byte(text))
		if err != nil {
			return
		}
		for name, p := range all {
			if found := p.Check(); len(found) > 0 || name == "" {
				t.Errorf("%q: %v", name, found)
			}
		}
	})
}
