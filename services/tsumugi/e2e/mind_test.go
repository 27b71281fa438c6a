package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// mind is the model of sessions, for which a test thinks: a server that speaks as llama.cpp's does, with a window that all prompts fit.
type mind struct {
	*llmtest.Server

	mu      sync.Mutex
	lines   []string
	aside   map[string]string
	gate    chan struct{}
	prompts []string
	// asked gives every prompt, when it is asked.
	asked chan string
}

func newMind(t *testing.T) *mind {
	t.Helper()
	m := &mind{aside: map[string]string{}, asked: make(chan string, 4096)}
	lines := func(text string) []string { return slices.Collect(strings.Lines(text)) } // quick to count
	m.Server = llmtest.New(t, llmtest.Options{Window: 200_000, Cut: lines, Reply: m.reply})
	return m
}

// blank is what it says when the test has thought of nothing: the turn ends, and a person is asked.
var blank = say("PLANNING", "pending_user", "question", "何も思いつきません。")

// reply answers: what a prompt with certain words is answered, else the next line, once it is let.
func (m *mind) reply(prompt string) []string {
	m.mu.Lock()
	m.prompts = append(m.prompts, prompt)
	answer, gate := blank, m.gate
	beside := ""
	for words, said := range m.aside {
		if strings.Contains(prompt, words) {
			beside = said
		}
	}
	switch {
	case beside != "":
		answer, gate = beside, nil
	case len(m.lines) > 0:
		answer, m.lines = m.lines[0], m.lines[1:]
	}
	m.mu.Unlock()
	m.asked <- prompt
	if gate != nil {
		select {
		case <-gate:
		case <-m.Closed():
		}
	}
	return []string{answer}
}

// think gives the next answers.
func (m *mind) think(lines ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, lines...)
}

// when gives the answer to prompts with certain words.
func (m *mind) when(words, said string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.aside[words] = said
}

// hold has answers wait until what it gives is called.
func (m *mind) hold() (release func()) {
	gate := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gate = gate
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.gate = nil
		close(gate)
	})
}

// next waits until the model is asked, and gives the prompt.
func (m *mind) next(t *testing.T) string {
	t.Helper()
	select {
	case prompt := <-m.asked:
		return prompt
	case <-time.After(patience):
		t.Fatal("the model is not asked")
		return ""
	}
}

// heard gives the prompts so far, and forgets them.
func (m *mind) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.prompts
	m.prompts = nil
	for len(m.asked) > 0 {
		<-m.asked
	}
	return all
}

// left are the answers that nobody asked for.
func (m *mind) left() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines
}

// forget takes away the answers that nobody asked for.
func (m *mind) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = nil
}

// say is an answer: the step that is asked for, what comes next, and other fields by name.
func say(step, next string, more ...any) string {
	all := map[string]any{
		"rationale": "次の一手", "goal_consistency": map[string]any{"ok": true, "reason": "目標どおり"}, "constraint_check": map[string]any{"ok": true, "reason": "制約内"},
		"step": step, "next_step": next, "prompt_pattern": "base_main_specialized",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i].(string)] = more[i+1]
	}
	text, _ := json.Marshal(all) // plain values
	return string(text)
}

// acts are the calls of an answer: names and arguments by turns.
func acts(of ...any) (all []any) {
	for i := 0; i < len(of); i += 2 {
		all = append(all, map[string]any{"name": of[i], "args": of[i+1]})
	}
	return all
}

// args are the arguments of a call.
type args = map[string]any
