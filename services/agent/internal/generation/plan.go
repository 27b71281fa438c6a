package generation

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// plan is what will be asked of which model.
type plan struct {
	req   Request
	built Built
	model llm.Generator
}

// Preview builds the prompt of a request and shows it whole. The model is not called and nothing is stored, so that the
// Opened names no generation.
// The errors are those with which Generate ends before its Opened.
func (s *Service) Preview(ctx context.Context, ns string, req Request) (Opened, error) {
	req = s.fill(req)
	p, err := s.prepare(ctx, ns, req)
	if err != nil {
		return Opened{}, err
	}
	o := p.opened()
	o.Generation = uuid.Nil
	if o.Build != nil {
		o.Build.Prompt = p.built.Prompt
	}
	return o, nil
}

// fill draws and fills in what the request left open and what we know.
func (s *Service) fill(req Request) Request {
	if req.ID == uuid.Nil {
		req.ID = s.random.ID()
	}
	if req.Sampling.MaxTokens == 0 && len(req.Build) == 0 {
		req.Sampling.MaxTokens = s.limits.MaxTokens
	}
	if req.Sampling.Seed == nil {
		seed := s.random.Seed()
		req.Sampling.Seed = &seed
	}
	return req
}

// prepare finds the text, builds the prompt and sees that the model server is the one that the prompt was measured with.
// A server that changed in between is measured once more.
func (s *Service) prepare(ctx context.Context, ns string, req Request) (plan, error) {
	build, err := s.builder(ctx, ns, req)
	if err != nil {
		return plan{}, err
	}
	model, err := s.models.Generator(req.Backend)
	if err != nil {
		return plan{}, err
	}
	changed := &BackendChangedError{}
	for range 2 {
		built, err := build(ctx, model)
		if err != nil {
			return plan{}, err
		}
		found, err := model.Window(ctx)
		if err != nil {
			return plan{}, err
		}
		if built.Measured == found {
			req.Sampling = built.sampling(req.Sampling)
			return plan{req: req, built: built, model: model}, nil
		}
		changed.Measured, changed.Found = built.Measured, found
	}
	return plan{}, changed
}

// builder gives the way in which the request's prompt is made, after reading what it is made from.
func (s *Service) builder(ctx context.Context, ns string, req Request) (func(context.Context, llm.Generator) (Built, error), error) {
	story, err := s.flows.Story(ctx, ns, req.Flow)
	if err != nil {
		return nil, err
	}
	if req.Prompt != "" {
		return func(ctx context.Context, model llm.Generator) (Built, error) { return s.plain(ctx, ns, req, model) },
			s.checkParent(ctx, ns, req)
	}
	text, err := s.body(ctx, ns, req)
	if err != nil {
		return nil, err
	}
	q := BuildRequest{
		Backend: req.Backend, Story: req.Story.over(story), Body: string(text.text),
		BlockOrder: req.BlockOrder, NoteHeader: req.NoteHeader, MaxTokens: req.Sampling.MaxTokens, Seed: req.PickSeed,
		Form: req.Build,
	}
	return func(ctx context.Context, _ llm.Generator) (Built, error) {
		built, err := s.prompts.Build(ctx, ns, q)
		text.report(&built)
		return built, err
	}, nil
}

// sampling is how the answer to the prompt is drawn: as asked, as long as the prompt leaves room for, and to the stop
// strings of the prompt's form, since a model that goes on with its marks has ended the text.
func (b Built) sampling(asked llm.Sampling) llm.Sampling {
	asked.MaxTokens = cmp.Or(asked.MaxTokens, b.MaxTokens)
	asked.Stop = slices.Clone(asked.Stop)
	for _, stop := range b.Stop {
		if !slices.Contains(asked.Stop, stop) {
			asked.Stop = append(asked.Stop, stop)
		}
	}
	return asked
}

// checkParent sees that the parent is a node of the flow, where the path does not enter the prompt.
func (s *Service) checkParent(ctx context.Context, ns string, req Request) error {
	if req.Parent == uuid.Nil {
		return nil
	}
	var err error
	for _, err = range s.flows.Path(ctx, ns, req.Flow, req.Parent) {
		break
	}
	return err
}

// plain measures a prompt that the caller wrote. *llm.BudgetError before anything is counted;
// *llm.OverflowError.
func (s *Service) plain(ctx context.Context, ns string, req Request, model llm.Generator) (Built, error) {
	found, err := model.Window(ctx)
	if err != nil {
		return Built{}, err
	}
	if req.Sampling.MaxTokens >= found.Window {
		return Built{}, &llm.BudgetError{Window: found.Window, MaxTokens: req.Sampling.MaxTokens}
	}
	tokens, measured, err := s.prompts.Count(ctx, ns, req.Backend, req.Prompt)
	if err != nil {
		return Built{}, err
	}
	if limit := measured.Window - req.Sampling.MaxTokens; tokens > limit {
		return Built{}, &llm.OverflowError{Limit: limit, Tokens: tokens, MaxTokens: req.Sampling.MaxTokens, Field: "prompt"}
	}
	return Built{Prompt: req.Prompt, Digest: digest(req.Prompt), Task: taskPlain, Tokens: tokens, Measured: measured}, nil
}

// opened is the opening event, without the prompt: it is kept as long as the generation.
func (p plan) opened() Opened {
	o := Opened{
		Generation: NodeID(p.req.ID), RequestID: p.req.ID,
		PromptDigest: p.built.Digest, PromptTokens: p.built.Tokens,
		Backend: p.built.Measured, Sampling: p.req.Sampling,
	}
	if p.req.Prompt == "" {
		shown := p.built
		shown.Prompt = ""
		o.Build = &shown
	}
	return o
}

// node is the node that an answer makes, whole or cut. What the server did not say stays 0.
func (p plan) node(text string, result llm.Result, finish Finish, why string) Node {
	n := Node{ID: NodeID(p.req.ID), Model: p.built.Measured.Model, Record: &Record{
		Backend:      p.built.Measured,
		PromptDigest: p.built.Digest, Task: p.built.Task,
		PickSeed: p.req.PickSeed, Picks: picked(p.built.Picks),
		Sampling:     p.req.Sampling,
		PromptTokens: result.PromptTokens, CachedTokens: result.CachedTokens, AnswerTokens: result.AnswerTokens,
		PromptTime: result.PromptTime, AnswerTime: result.AnswerTime,
		Finish: finish, Error: shorten(why),
	}}
	// One of the two is empty: they do not come together.
	if asked := p.req.Text + p.req.Prompt; asked != "" {
		n.Texts = append(n.Texts, NodeText{Role: roleUser, Content: asked})
	}
	n.Texts = append(n.Texts, NodeText{
		Role: roleAssistant, Content: text,
		Tokens: result.AnswerTokens, Duration: result.AnswerTime, Rate: rate(result),
	})
	return n
}

// shorten keeps a sentence within what a node may hold.
func shorten(why string) string {
	const most = 1000
	if runes := []rune(why); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return why
}

// picked writes the drawn options as the node keeps them.
func picked(picks []Pick) []string {
	var list []string
	for _, p := range picks {
		options := make([]string, len(p.Options))
		for i, o := range p.Options {
			options[i] = strconv.Itoa(o)
		}
		list = append(list, p.Field+"#"+strconv.Itoa(p.Group)+"="+strings.Join(options, ","))
	}
	return list
}

// rate is tokens per second, to two decimals as in seed 004, 4.1; 0 where the server measured no time worth dividing by.
func rate(r llm.Result) float64 {
	if r.AnswerTime.Milliseconds() == 0 {
		return 0
	}
	return math.Round(float64(r.AnswerTokens)/r.AnswerTime.Seconds()*100) / 100
}
