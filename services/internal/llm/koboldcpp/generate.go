package koboldcpp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// Generate asks for a stream, after it has made sure that prompt and answer fit: the server would drop the beginning of the
// prompt without a word.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Stream, error) {
	if err := c.server.Refuse(noConversation(req), req.CheckFor(c.Tells()), req.Unknown(Kind, c.Knobs()), check(req.Sampling)); err != nil {
		return nil, err
	}
	window, tokens, err := c.fits(ctx, req)
	if err != nil {
		return nil, err
	}
	key, seed := draw()
	if req.Sampling.Seed != nil {
		seed = seedOf(*req.Sampling.Seed)
	}
	s := newStream(ctx, c, key, &answer{
		server: c.server, stops: wire.NewStops(req.Sampling.Stop), seed: seed, most: req.Sampling.MaxTokens,
		result: llm.Result{PromptTokens: tokens},
	})
	if err := s.open(newGeneration(req, key, seed, window)); err != nil {
		return nil, wire.Blame(err, req.Sampling, names)
	}
	return s, nil
}

// noConversation refuses messages. The server has /v1/chat/completions, but chooses the form by itself (Alpaca's in version 1.76,
// whatever the model was trained on), tells neither the form nor its tokens: by its usage every prompt has 100.
func noConversation(req llm.Request) error {
	if len(req.Messages) == 0 {
		return nil
	}
	return errors.New("a KoboldCpp server takes no conversations from here: it puts them into a form of its own, which may not be the model's, and drops what does not fit without a word; send a prompt, or name another backend")
}

// fits gives the window and the tokens of the prompt. Exactly full fits.
func (c *Client) fits(ctx context.Context, req llm.Request) (window, tokens int, err error) {
	if window, err = c.window(ctx); err != nil {
		return 0, 0, err
	}
	if most := longest(window); req.Sampling.MaxTokens > most {
		return 0, 0, c.server.Fault(llm.FaultRefused, nil, "max tokens is %d; it must be at most %d, as KoboldCpp servers make no longer answers in a window of %d and do not say so", req.Sampling.MaxTokens, most, window)
	}
	if tokens, err = c.count(ctx, req.Prompt); err != nil {
		return 0, 0, err
	}
	if tokens+req.Sampling.MaxTokens > window {
		e := c.server.Fault(llm.FaultTooLong, nil, "the prompt has %d tokens and the answer may have %d; the window holds %d, and this kind of server would drop the beginning of the prompt",
			tokens, req.Sampling.MaxTokens, window)
		e.Tokens, e.Window = tokens, window
		return 0, 0, e
	}
	return window, tokens, nil
}

// longest is how long an answer may be: version 1.102 shortens it to four fifths of the window without a word, 1.76 to all
// but 16 tokens (field/wannabe.md 2).
func longest(window int) int { return window * 4 / 5 }

// draw gives a key that no other generation has, and a seed as the server would draw one. That seed tells later whose
// generation the server's figures are.
func draw() (key string, seed int32) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return "tsumugi-" + hex.EncodeToString(random[:12]), seedOf(binary.LittleEndian.Uint32(random[12:]))
}
