package transport

import (
	"context"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
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
	r := toRequest(req)
	wrong(f, r.Check())
	if err := f.Err(); err != nil {
		return nil, err
	}
	p, err := s.stories.Build(ctx, r)
	if err != nil {
		return nil, fault(err)
	}
	return fromPrompt(p), nil
}

func toRequest(req *promptbuilderv1.BuildStoryRequest) story.Request {
	return story.Request{
		Backend: req.GetBackend(), Work: toWork(req.GetStory()), Body: req.GetBody(),
		TextFirst:  req.GetBlockOrder() == promptbuilderv1.BlockOrder_BLOCK_ORDER_TEXT_FIRST,
		LegacyNote: req.GetNoteHeader() == promptbuilderv1.NoteHeader_NOTE_HEADER_LEGACY,
		MaxTokens:  int(req.GetMaxTokens()),
		Uncut:      req.GetFit() == promptbuilderv1.Fit_FIT_NONE,
		Seed:       req.GetSeed(),
	}
}

func toWork(s *commonv1.Story) story.Work {
	w := story.Work{
		Title: s.GetTitle(), Keywords: s.GetKeywords(), Genres: s.GetGenres(), Synopsis: s.GetSynopsis(), Setting: s.GetSetting(),
		Plot: s.GetPlot(), Note: s.GetNote(), Rating: s.GetRating(),
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
}

var kinds = map[story.Kind]promptbuilderv1.BlockKind{
	story.KindInstruction: promptbuilderv1.BlockKind_BLOCK_KIND_INSTRUCTION,
	story.KindReference:   promptbuilderv1.BlockKind_BLOCK_KIND_REFERENCE,
	story.KindBody:        promptbuilderv1.BlockKind_BLOCK_KIND_BODY,
	story.KindNote:        promptbuilderv1.BlockKind_BLOCK_KIND_NOTE,
	story.KindTail:        promptbuilderv1.BlockKind_BLOCK_KIND_TAIL,
	story.KindSuffix:      promptbuilderv1.BlockKind_BLOCK_KIND_SUFFIX,
}

func fromPrompt(p story.Prompt) *promptbuilderv1.BuildStoryResponse {
	res := &promptbuilderv1.BuildStoryResponse{
		Prompt: p.Text, Digest: p.Digest, Task: tasks[p.Task], Tokens: int32(p.Tokens), Limit: int32(p.Limit),
		MaxTokens: int32(p.MaxTokens), Rating: p.Rating, Overflow: p.Overflow, CountsUsed: int32(p.Counts), Seed: p.Seed,
		Backend: fromBackend(p.Backend),
	}
	for _, b := range p.Blocks {
		res.Blocks = append(res.Blocks, &promptbuilderv1.Block{
			Kind: kinds[b.Kind], Tokens: int32(b.Tokens), Characters: int32(b.Characters), Estimated: b.Estimated,
		})
	}
	if c := p.Cut; c != nil {
		res.Cut = &promptbuilderv1.Cut{
			Characters: int32(c.Characters), Lines: int32(c.Lines), KeptCharacters: int32(c.KeptCharacters), FirstKept: c.FirstKept,
		}
	}
	for _, w := range p.Warnings {
		res.Warnings = append(res.Warnings, &promptbuilderv1.Warning{Code: string(w.Code), Field: w.Field, Message: w.Message})
	}
	for _, pick := range p.Picks {
		res.Picks = append(res.Picks, &promptbuilderv1.Pick{
			Field: pick.Field, Group: int32(pick.Group), Option: int32(pick.Option), Text: pick.Text,
		})
	}
	return res
}
