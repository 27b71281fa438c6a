package conformance

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// conversation: messages are answered, whatever they end with, or refused before anything is sent.
func (s Subject) conversation(t *testing.T) {
	r := s.request("", 8)
	r.Messages = []llm.Message{
		{Role: llm.RoleSystem, Content: "s"}, {Role: llm.RoleUser, Content: s.Prompt}, {Role: llm.RoleAssistant, Content: "a"}, {Role: llm.RoleUser, Content: s.Prompt},
	}
	if told := s.Backend.Tells().Conversations; told == s.NoConversations {
		t.Errorf("that it takes conversations is told as %v", told)
	}
	if s.NoConversations {
		_, err := s.Backend.Generate(t.Context(), r)
		wantFault(t, err, llm.FaultRefused)
		return
	}
	text, result := s.answer(t, r)
	if n := s.countOf(t, s.Prompt); text == "" || result.AnswerTokens < 1 || result.PromptTokens < 2*n {
		t.Errorf("the answer is %q, with %+v; the prompt alone has %d tokens, and is there twice", text, result, n)
	}
	if result.Calls != nil {
		t.Errorf("it calls %+v, and was offered nothing", result.Calls)
	}
}

// tools: the model calls one, and goes on with what the tool said; a call that was cut is none.
func (s Subject) tools(t *testing.T) {
	if _, err := s.Backend.Window(t.Context()); err != nil { // some are asked here
		t.Fatal(err)
	}
	if told := s.Backend.Tells().Tools; told == s.NoTools {
		t.Errorf("that it takes tools is told as %v", told)
	}
	r := servertest.Calling()
	if s.NoTools {
		_, err := s.Backend.Generate(t.Context(), r)
		wantFault(t, err, llm.FaultRefused)
		return
	}
	_, result := s.answer(t, r)
	if len(result.Calls) != 1 || result.Finish != llm.FinishStop || result.AnswerTokens < 1 {
		t.Fatalf("the result is %+v", result)
	}
	call := result.Calls[0]
	if diff := cmp.Diff(parsed(t, servertest.Arguments), parsed(t, call.Arguments)); diff != "" || call.Name != servertest.Tool.Name {
		t.Errorf("it calls %+v; want -, got +:\n%s", call, diff)
	}
	text, later := s.answer(t, servertest.Answered(r, call, "The sea is blue."))
	if text == "" || later.PromptTokens <= result.PromptTokens {
		t.Errorf("what the tool said is answered with %q, %+v; before it was %+v", text, later, result)
	}
	r.Sampling.MaxTokens = 3
	if _, cut := s.answer(t, r); cut.Calls != nil || cut.Finish != llm.FinishLength {
		t.Errorf("after 3 tokens the result is %+v", cut)
	}
	if sampler, ok := s.Backend.(llm.Sampler); ok && slices.Contains(sampler.Knobs(), llm.KnobGrammar) {
		r.Sampling.Grammar = `root ::= "a"` // llama.cpp makes one of the tools
		s.wantBadKnobs(t, r, "grammar")
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%q: %v", text, err)
	}
	return v
}

// schema: an answer is held to one, or a request that asks for that is refused.
func (s Subject) schema(t *testing.T) {
	r := s.request("", 24)
	r.Messages, r.Schema = []llm.Message{{Role: llm.RoleUser, Content: `Say {"blue":true}`}}, servertest.Schema
	if told := s.Backend.Tells().Schema; told == s.NoSchema {
		t.Errorf("that it holds an answer to a schema is told as %v", told)
	}
	if s.NoSchema {
		_, err := s.Backend.Generate(t.Context(), r)
		wantFault(t, err, llm.FaultRefused)
		return
	}
	text, result := s.answer(t, r)
	got, ok := parsed(t, text).(map[string]any)
	if _, said := got["blue"].(bool); !ok || !said || len(got) != 1 || result.Finish != llm.FinishStop {
		t.Errorf("the answer is %q, with %+v", text, result)
	}
	for name, wrong := range map[string]func(*llm.Request){
		"no JSON": func(r *llm.Request) { r.Schema = "{" }, "a list": func(r *llm.Request) { r.Schema = "[]" }, "tools beside it": func(r *llm.Request) { r.Tools = servertest.Calling().Tools },
		"a prompt": func(r *llm.Request) { r.Prompt, r.Messages = s.Prompt, nil }, "a grammar beside it": func(r *llm.Request) { r.Sampling.Grammar = `root ::= "a"` },
	} {
		bad := r
		wrong(&bad)
		_, err := s.Backend.Generate(t.Context(), bad)
		if servertest.FaultOf(err) != llm.FaultRefused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
