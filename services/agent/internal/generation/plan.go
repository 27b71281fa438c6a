package generation

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// draft is a prompt and the model that it was measured for.
type draft struct {
	built Built
	model llm.Generator
}

// plan is what will be asked of which model for one answer.
type plan struct {
	order
	draft
}

// order is one answer that is asked for.
type order struct {
	// Request is the whole request, as it is for this answer.
	Request
	// n is which of its answers it is, from 0; answers how many there are, 0 for one; branch the name of this one.
	n, answers int
	branch     string
	// digest is that of the whole request.
	digest string
	// free: it needs no place among those that run, as its node is stored, or it runs in place of the answer before it.
	free bool
	// drafter makes the prompt.
	drafter drafter
}

// drafter makes a prompt.
type drafter func(ctx context.Context) (draft, error)

// asked is what the Opened of an answer tells of its request.
type asked struct {
	request uuid.UUID
	branch  string
	answers int
}

func (o order) asked() asked { return asked{o.ID, o.branch, o.answers} }

// plan gives an order its prompt.
func (o order) plan(d draft) plan {
	if seed := d.built.Sampling.Seed; o.drawn && seed != nil {
		o.Sampling.Seed = seed
		o.Request = o.numbered(o.n)
	}
	o.Sampling = d.built.sampling(o.Sampling)
	return plan{o, d}
}

// Preview builds the prompt of a request, also of one without a flow, and shows it whole. The model is not called and nothing is stored, so that the
// Opened names no generation.
// The errors are those with which Generate ends before its Opened.
func (s *Service) Preview(ctx context.Context, ns string, req Request) (Opened, error) {
	req = s.fill(req)
	d, err := s.draft(ctx, ns, req, draw{all: req.EveryOption, preview: true})
	if err != nil {
		return Opened{}, err
	}
	p := order{Request: req}.plan(d)
	if req.EveryOption {
		if err := s.checkOptions(d.built); err != nil {
			return Opened{}, err
		}
		p.answers = len(d.built.Combinations)
	}
	o := p.opened()
	o.Generation = uuid.Nil
	if o.Build != nil {
		o.Build.Prompt = p.built.Prompt
	}
	if o.Chat != nil {
		o.Chat = p.built.Chat
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
		seed := seedOf(req.ID)
		req.Sampling.Seed, req.drawn = &seed, true
	}
	return req
}

// draw says how the options of the dynamic prompts are taken, where it is not as the request says, and what for.
type draw struct {
	// picks are taken again.
	picks []Pick
	// all takes the first ones and lists every combination.
	all bool
	// preview: nothing is made of the prompt, which may be of a text that is in no flow.
	preview bool
}

// draft finds the text, builds the prompt and sees that the model server is the one that the prompt was measured with.
// A server that changed in between is measured once more.
func (s *Service) draft(ctx context.Context, ns string, req Request, how draw) (draft, error) {
	model, err := s.generator(req)
	if err != nil {
		return draft{}, &RefusedError{s.refusals(ctx, ns, req, model, err)}
	}
	build, err := s.builder(ctx, ns, req, how)
	if err != nil {
		return draft{}, err
	}
	changed := &BackendChangedError{}
	for range 2 {
		built, err := build(ctx, model)
		if err != nil {
			return draft{}, err
		}
		found, err := model.Window(ctx)
		if err != nil {
			return draft{}, err
		}
		if built.Measured == found {
			if err := checkPicks(built.Picks); err != nil {
				return draft{}, err
			}
			if err := s.checkPreset(req.Backend, model, built.Sampling); err != nil {
				return draft{}, err
			}
			return draft{built: built, model: model}, nil
		}
		changed.Measured, changed.Found = built.Measured, found
	}
	return draft{}, changed
}

// builder gives the way in which the request's prompt is made, after reading what it is made from.
func (s *Service) builder(ctx context.Context, ns string, req Request, how draw) (func(context.Context, llm.Generator) (Built, error), error) {
	var story Story
	if req.Flow != uuid.Nil || !how.preview {
		var err error
		if story, err = s.flows.Story(ctx, ns, req.Flow); err != nil {
			return nil, err
		}
	}
	if req.Prompt != "" {
		return func(ctx context.Context, model llm.Generator) (Built, error) { return s.plain(ctx, ns, req, model) },
			s.checkParent(ctx, ns, req)
	}
	if req.Chat != nil {
		return func(ctx context.Context, model llm.Generator) (Built, error) { return s.chat(ctx, ns, req, model) }, nil
	}
	text, err := s.body(ctx, ns, req)
	if err != nil {
		return nil, err
	}
	q := BuildRequest{
		Backend: req.Backend, Story: req.Story.over(story), Body: string(text.text),
		BlockOrder: req.BlockOrder, NoteHeader: req.NoteHeader, MaxTokens: req.Sampling.MaxTokens, Seed: req.PickSeed,
		Form: req.Build, Picks: how.picks, All: how.all,
	}
	return func(ctx context.Context, _ llm.Generator) (Built, error) {
		built, err := s.prompts.Build(ctx, ns, q)
		text.report(&built)
		return built, err
	}, nil
}

// sampling is how the answer to the prompt is drawn: as asked, else as a preset has it, as long as the prompt leaves room
// for, and to the stop strings of the prompt's form, since a model that goes on with its marks has ended the text.
func (b Built) sampling(asked llm.Sampling) llm.Sampling {
	asked = asked.Over(b.Sampling)
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
	tokens, measured, err := s.count(ctx, ns, req.Backend, []string{req.Prompt})
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
		Generation: NodeID(p.ID, p.n), RequestID: p.ID,
		PromptDigest: p.built.Digest, PromptTokens: p.built.Tokens,
		Backend: p.built.Measured, Sampling: p.Sampling,
		Branch: p.branch, Answers: p.answers,
	}
	switch {
	case p.built.Chat != nil:
		o.Chat = p.built.Chat.shown()
	case p.Prompt == "":
		shown := p.built
		shown.Prompt = ""
		o.Build = &shown
	}
	return o
}

// node is the node that an answer makes, whole or cut. What the server did not say stays 0.
// Behind answers that asked for nodes, one that was cut before its first character is left out.
func (p plan) node(t said, text string, finish Finish, why string) Node {
	result := t.total
	n := Node{ID: NodeID(p.ID, p.n), Model: p.built.Measured.Model, Record: &Record{
		Backend:      p.built.Measured,
		PromptDigest: p.built.Digest, Task: p.built.Task,
		PickSeed: p.PickSeed, Picks: picked(p.built.Picks), Branch: p.branch,
		Sampling:     p.Sampling,
		PromptTokens: result.PromptTokens, CachedTokens: result.CachedTokens, AnswerTokens: result.AnswerTokens,
		PromptTime: result.PromptTime, AnswerTime: result.AnswerTime,
		Finish: finish, Error: shorten(why),
	}}
	// One of the two is empty: they do not come together.
	if asked := p.Text + p.Prompt; asked != "" {
		n.Texts = append(n.Texts, NodeText{Role: roleUser, Content: asked})
	}
	n.Texts = append(n.Texts, t.texts...)
	if text != "" || finish.state() == Done || len(t.texts) == 0 {
		n.Texts = append(n.Texts, answerOf(text, t.last))
	}
	return n
}

// answerOf is an answer as a text of a node.
func answerOf(text string, r llm.Result) NodeText {
	return NodeText{Role: roleAssistant, Content: text, Tokens: r.AnswerTokens, Duration: r.AnswerTime, Rate: rate(r)}
}

// shorten keeps a sentence within what a node may hold.
func shorten(why string) string {
	const most = 1000
	if runes := []rune(why); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return why
}

// rate is tokens per second, to two decimals as in seed 004, 4.1; 0 where the server measured no time worth dividing by.
func rate(r llm.Result) float64 {
	if r.AnswerTime.Milliseconds() == 0 {
		return 0
	}
	return math.Round(float64(r.AnswerTokens)/r.AnswerTime.Seconds()*100) / 100
}
