package transport

import (
	"context"
	"fmt"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling/wire"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// BuildStory makes the prompt that continues a novel.
func (s *Server) BuildStory(ctx context.Context, req *promptbuilderv1.BuildStoryRequest) (*promptbuilderv1.BuildStoryResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	known(f, "mode", req.GetMode())
	known(f, "block_order", req.GetBlockOrder())
	known(f, "note_header", req.GetNoteHeader())
	known(f, "fit", req.GetFit())
	known(f, "compatibility", req.GetCompatibility())
	known(f, "sampler", req.GetSampler())
	known(f, "cut_granularity", req.GetCutGranularity())
	known(f, "on_overflow", req.GetOnOverflow())
	for i, b := range req.GetBlocks() {
		bounded(f, fmt.Sprintf("blocks[%d].kind", i), b.GetKind())
		known(f, fmt.Sprintf("blocks[%d].trim", i), b.GetTrim())
	}
	r, found := s.stories.Prepare(toRequest(req))
	wrong(f, found)
	if f.Len() > 0 {
		f.Also(fault(s.stories.Unfit(ctx, r)))
		return nil, f.Err()
	}
	p, err := s.stories.Build(ctx, r)
	if err != nil {
		return nil, fault(err)
	}
	return fromPrompt(p), nil
}

func toRequest(req *promptbuilderv1.BuildStoryRequest) story.Request {
	if req == nil {
		req = &promptbuilderv1.BuildStoryRequest{}
	}
	return story.Request{
		Backend: req.GetBackend(), Work: toWork(req), Body: req.GetBody(),
		Blocks: toRules(req.GetBlocks()), NoteDepth: whole(req.NoteDepth), TextPercent: int(req.GetTextPercent()),
		Preset: req.GetPreset(), Sampling: wire.Sampling(req.GetSampling()),
		Order:      story.Order(word(req.GetBlockOrder(), "BLOCK_ORDER_")),
		NoteHeader: story.NoteHeader(word(req.GetNoteHeader(), "NOTE_HEADER_")),
		MaxTokens:  int(req.GetMaxTokens()),
		Fit:        story.Fit(word(req.GetFit(), "FIT_")),
		TrimTo:     int(req.GetMaxMainTextChars()),
		Seed:       req.GetSeed(),
		Mode:       modes[req.GetMode()],
		Compat:     req.GetCompatibility() == promptbuilderv1.Compatibility_COMPATIBILITY_COMPAT,
		Sampler:    samplers[req.GetSampler()],
		Sets:       toSets(req.GetSets()),
		Picks:      toPicks(req.GetPicks()),
		Wrapping:   toWrapping(req.GetWrapping()),
		Neutralize: req.GetNeutralize(), LenientBody: req.GetLenientBody(),
		Finest: places[req.GetCutGranularity()], ReturnOver: req.GetOnOverflow() == promptbuilderv1.OnOverflow_ON_OVERFLOW_RETURN,
		Slack: whole(req.SlackPercent), State: req.GetState(),
	}
}

// whole is a number of the domain, and nil for one that is not given.
func whole(given *int32) *int {
	if given == nil {
		return nil
	}
	n := int(*given)
	return &n
}

// What the contract leaves open is the zero value of the domain.
var (
	modes = map[promptbuilderv1.StoryMode]story.Mode{
		promptbuilderv1.StoryMode_STORY_MODE_IDEA: story.Idea, promptbuilderv1.StoryMode_STORY_MODE_AUTOCOMPLETE: story.Autocomplete,
	}
	samplers = map[promptbuilderv1.Sampler]story.Sampler{
		promptbuilderv1.Sampler_SAMPLER_CYCLIC: story.Cyclic, promptbuilderv1.Sampler_SAMPLER_ALL: story.All,
	}
)

func toWrapping(w *promptbuilderv1.Wrapping) story.Wrapping {
	return story.Wrapping{
		Name: w.GetName(), BOS: w.GetBos(), BeforeInstruction: w.GetBeforeInstruction(), BeforeInput: w.GetBeforeInput(), AfterInput: w.GetAfterInput(),
		BeforeSuffix: w.GetBeforeSuffix(), Stop: w.GetStop(),
	}
}

func fromWrapping(w story.Wrapping) *promptbuilderv1.Wrapping {
	return &promptbuilderv1.Wrapping{
		Name: w.Name, Bos: w.BOS, BeforeInstruction: w.BeforeInstruction, BeforeInput: w.BeforeInput, AfterInput: w.AfterInput,
		BeforeSuffix: w.BeforeSuffix, Stop: w.Stop,
	}
}

func toSets(sets map[string]*promptbuilderv1.OptionSet) dynamic.Sets {
	if len(sets) == 0 {
		return nil
	}
	all := make(dynamic.Sets, len(sets))
	for name, set := range sets {
		all[name] = set.GetOptions()
	}
	return all
}

func toPicks(picks []*promptbuilderv1.Pick) []story.Pick {
	var all []story.Pick
	for _, p := range picks {
		var options []int
		for _, o := range p.GetOptions() {
			options = append(options, int(o))
		}
		if options == nil && p.GetOption() >= 0 {
			options = []int{int(p.GetOption())}
		}
		all = append(all, story.Pick{Field: p.GetField(), Pick: dynamic.Pick{Group: int(p.GetGroup()), Options: options, Text: p.GetText()}})
	}
	return all
}

func toWork(req *promptbuilderv1.BuildStoryRequest) story.Work {
	s := req.GetStory()
	w := story.Work{
		Title: s.GetTitle(), Keywords: s.GetKeywords(), Genres: s.GetGenres(), Synopsis: s.GetSynopsis(), Setting: s.GetSetting(),
		Plot: s.GetPlot(), Note: s.GetNote(), Rating: s.GetRating(),
		Summary: req.GetSummary(), Memory: req.GetMemory(),
	}
	if s != nil {
		w.DialogueLevel = s.DialogueLevel
	}
	return w
}

var tasks = map[story.Task]promptbuilderv1.StoryTask{
	story.GenInfo:  promptbuilderv1.StoryTask_STORY_TASK_GEN_INFO,
	story.GenZero:  promptbuilderv1.StoryTask_STORY_TASK_GEN_ZERO,
	story.ContInfo: promptbuilderv1.StoryTask_STORY_TASK_CONT_INFO,
	story.ContZero: promptbuilderv1.StoryTask_STORY_TASK_CONT_ZERO,
	story.IdeaInfo: promptbuilderv1.StoryTask_STORY_TASK_IDEA_INFO,
	story.IdeaZero: promptbuilderv1.StoryTask_STORY_TASK_IDEA_ZERO,
}

var kinds = map[story.Kind]promptbuilderv1.BlockKind{
	story.KindInstruction: promptbuilderv1.BlockKind_BLOCK_KIND_INSTRUCTION,
	story.KindReference:   promptbuilderv1.BlockKind_BLOCK_KIND_REFERENCE,
	story.KindBody:        promptbuilderv1.BlockKind_BLOCK_KIND_BODY,
	story.KindNote:        promptbuilderv1.BlockKind_BLOCK_KIND_NOTE,
	story.KindTail:        promptbuilderv1.BlockKind_BLOCK_KIND_TAIL,
	story.KindSuffix:      promptbuilderv1.BlockKind_BLOCK_KIND_SUFFIX,
	story.KindSummary:     promptbuilderv1.BlockKind_BLOCK_KIND_SUMMARY,
	story.KindMemory:      promptbuilderv1.BlockKind_BLOCK_KIND_MEMORY,
}

func fromPrompt(p story.Prompt) *promptbuilderv1.BuildStoryResponse {
	res := &promptbuilderv1.BuildStoryResponse{
		Prompt: p.Text, Digest: p.Digest, Task: tasks[p.Task], Tokens: int32(p.Tokens), Limit: int32(p.Limit),
		MaxTokens: int32(p.MaxTokens), Rating: p.Rating, Overflow: p.Overflow, CountsUsed: int32(p.Counts), Seed: p.Seed,
		CharactersSent: int32(p.Sent), State: p.State, SlackPercent: int32(p.Slack), SuffixCharacters: int32(p.Suffix),
		Backend: fromBackend(p.Backend), Wrapping: fromWrapping(p.Wrapping), Held: fromPreset(p.Held),
	}
	for _, b := range p.Blocks {
		res.Blocks = append(res.Blocks, &promptbuilderv1.Block{
			Kind: kinds[b.Kind], Tokens: int32(b.Tokens), Characters: int32(b.Characters), Estimated: b.Estimated,
			CutCharacters: int32(b.CutCharacters), CutLines: int32(b.CutLines), Limit: int32(b.Limit),
		})
	}
	if c := p.Cut; c != nil {
		res.Cut = &promptbuilderv1.Cut{
			Characters: int32(c.Characters), Lines: int32(c.Lines), KeptCharacters: int32(c.KeptCharacters), FirstKept: c.FirstKept,
			KeptShare: float64(c.KeptCharacters) / float64(c.KeptCharacters+c.Characters),
		}
	}
	for _, w := range p.Warnings {
		res.Warnings = append(res.Warnings, &promptbuilderv1.Warning{Code: string(w.Code), Field: w.Field, Message: w.Message})
	}
	res.Picks = fromPicks(p.Picks)
	for _, picks := range p.Combinations {
		res.Combinations = append(res.Combinations, &promptbuilderv1.Combination{Picks: fromPicks(picks)})
	}
	res.MoreCombinations = p.Some
	return res
}

// noOption stands where a group gave none, as `{0-1$$A|B}` may.
const noOption = -1

func fromPicks(picks []story.Pick) []*promptbuilderv1.Pick {
	var all []*promptbuilderv1.Pick
	for _, p := range picks {
		pick := &promptbuilderv1.Pick{Field: p.Field, Group: int32(p.Group), Text: p.Text, Line: int32(p.Line), Column: int32(p.Column)}
		for _, o := range p.Options {
			pick.Options = append(pick.Options, int32(o))
		}
		pick.Option = noOption
		if len(p.Options) > 0 {
			pick.Option = pick.Options[0]
		}
		all = append(all, pick)
	}
	return all
}
