package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
)

// slot is a real llama.cpp server with one slot that keeps its last prompt and no other. It is asked as a program would that
// renders its prompts itself: no template of a model puts a date into them (field/systemprompt.md 5.1).
type slot struct {
	server     *localmodel.Server
	vocabulary *tokenizer.Tokenizer // the model's own
	about      string
	// forget says that the next prompt is read as if the slot were empty; answer is how many tokens are written behind one.
	forget bool
	answer int
	took   time.Duration // by the last request
}

// slotWindow is at least twice the longest prompt.
const slotWindow = 8192

// openSlot installs the model where it is not, and starts it.
func openSlot(ctx context.Context, window int) (*slot, error) {
	dir, err := localmodel.DefaultDir()
	if err != nil {
		return nil, err
	}
	if err := localmodel.Install(ctx, dir, os.Stderr); err != nil {
		return nil, err
	}
	s := &slot{answer: 1, forget: true}
	if s.vocabulary, err = tokenizer.Open(filepath.Join(dir, "gemma.gguf")); err != nil {
		return nil, err
	}
	if s.server, err = localmodel.Start(ctx, localmodel.Options{Dir: dir, Model: "gemma", Slots: 1, Window: window, Forgets: true}); err != nil {
		return nil, err
	}
	var props struct {
		Alias string `json:"model_alias"`
		Quant string `json:"model_ftype"`
	}
	if err := s.call(ctx, http.MethodGet, "/props", nil, &props); err != nil {
		s.server.Stop()
		return nil, err
	}
	s.about = fmt.Sprintf("%s, %s, %s, one slot of %d tokens, %d of %d processors", props.Alias, props.Quant, localmodel.Library(), window, localmodel.Threads(), runtime.NumCPU())
	return s, nil
}

// client waits as long as a long prompt may take on a slow machine.
var client = &http.Client{Timeout: 10 * time.Minute}

// call asks the server.
func (s *slot) call(ctx context.Context, method, path string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.server.URL()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, res.Status, text)
	}
	return cmp.Or(err, json.Unmarshal(text, answer))
}

// Count gives the tokens of a text, without the one that stands before each.
func (s *slot) Count(text string) int { return len(s.cut(text)) - len(s.cut("")) }

func (s *slot) cut(text string) []int32 { return s.vocabulary.Append(nil, text, tokenizer.Prompt) }

// Read has the server read a prompt and write behind it.
func (s *slot) Read(prompt string) (tokens, cached int, err error) {
	var answer struct {
		Evaluated int `json:"tokens_evaluated"`
		Timings   struct {
			Cached int `json:"cache_n"`
			Read   int `json:"prompt_n"`
		} `json:"timings"`
	}
	ask := map[string]any{
		"prompt": prompt, "n_predict": s.answer, "ignore_eos": true, "temperature": 0, "id_slot": 0, "cache_prompt": !s.forget,
	}
	start := time.Now()
	err = s.call(context.Background(), http.MethodPost, "/completion", ask, &answer)
	s.took = time.Since(start)
	t := answer.Timings
	if err == nil && (t.Cached+t.Read != answer.Evaluated || answer.Evaluated != len(s.cut(prompt)) || s.forget && t.Cached > 0) {
		err = errors.New("the server's counts contradict each other, so that nothing was measured")
	}
	s.forget = false
	return answer.Evaluated, t.Cached, err
}

// compared is a slot beside which a simulator keeps the same books.
type compared struct {
	*slot
	simulator interface {
		Read(prompt string) (tokens, cached int, err error)
	}
	requests, differ int
}

// Read has both read a prompt, and gives what the server says.
func (c *compared) Read(prompt string) (tokens, cached int, err error) {
	tokens, cached, err = c.slot.Read(prompt)
	wantTokens, wantCached, _ := c.simulator.Read(prompt) // never fails
	if c.requests++; tokens != wantTokens || cached != wantCached {
		c.differ++
	}
	return tokens, cached, err
}
