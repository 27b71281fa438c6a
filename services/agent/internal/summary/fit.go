package summary

import (
	"context"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

const (
	// step is what the size of texts that are cut is a multiple of, in characters (field/systemprompt-rules.md 5).
	step = 500
	// maxCharacters of texts are looked at, so that they are at most the 2 MiB that RenderTemplate takes.
	maxCharacters = 500_000
)

// fit gives the message about a node: with its whole texts, or, partial, with as much of them as there is room for, which both
// share. *NodeError where there is room for nothing.
func (j *job) fit(ctx context.Context, n Node, reason Reason) (message string, partial bool, err error) {
	texts := [2]string{passage.Body(n.Prompt).Text, passage.Body(n.Answer).Text}
	sizes := []int{passage.Characters.Size(texts[0]), passage.Characters.Size(texts[1])}
	total, room := sizes[0]+sizes[1], j.who.Window-j.Numbers.MaxTokens
	if total <= maxCharacters {
		message, tokens, err := j.measured(ctx, texts, reason)
		if err != nil || tokens <= room {
			return message, false, err
		}
	}
	low, high := 0, min(total-1, maxCharacters)/step
	for low < high { // the largest that fits
		mid := (low + high + 1) / 2
		given := passage.Share(sizes, mid*step)
		cut := [2]string{passage.Characters.CutHeadTail(texts[0], given[0]), passage.Characters.CutHeadTail(texts[1], given[1])}
		shorter, tokens, err := j.measured(ctx, cut, reason)
		switch {
		case err != nil:
			return "", false, err
		case tokens <= room:
			low, message = mid, shorter
		default:
			high = mid - 1
		}
	}
	if low == 0 {
		return "", false, &NodeError{reasonOverflow, fmt.Sprintf(
			"the window of %s has %d tokens, which is too little for the question about the node and %d tokens of reply", j.who.Backend, j.who.Window, j.Numbers.MaxTokens)}
	}
	return message, true, nil
}

// measured gives the message with these texts, and its tokens.
func (j *job) measured(ctx context.Context, texts [2]string, reason Reason) (string, int, error) {
	message, err := j.render(ctx, j.ns, j.Locale, texts, reason)
	if err != nil {
		return "", 0, err
	}
	tokens, err := j.count(ctx, message)
	return message, tokens, err
}

// render gives the message about texts, prompt and answer; behind a bad reply with what was wrong with that.
func (s *Service) render(ctx context.Context, ns, locale string, texts [2]string, reason Reason) (string, error) {
	message, err := s.Prompts.Text(ctx, ns, locale, "summarise", map[string]string{"prompt": texts[0], "answer": texts[1]})
	if err != nil || reason == "" {
		return message, err
	}
	again, err := s.Prompts.Text(ctx, ns, locale, "summarise.again", map[string]string{"reason": string(reason)})
	return message + again, err
}
