package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

func TestCutAtStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pieces, stops, want []string
		stop                string
	}{
		"no stop string":         {[]string{"a", "b"}, nil, []string{"a", "b"}, ""},
		"not in the text":        {[]string{"a", "b"}, []string{"x"}, []string{"a", "b"}, ""},
		"at a border":            {[]string{"a", "b", "c"}, []string{"b"}, []string{"a"}, "b"},
		"over a border":          {[]string{"ab", "cd"}, []string{"bc"}, []string{"a"}, "bc"},
		"the first in the text":  {[]string{"abcd"}, []string{"d", "b"}, []string{"a"}, "b"},
		"the first in the list":  {[]string{"abcd"}, []string{"bc", "b"}, []string{"a"}, "bc"},
		"at the beginning":       {[]string{"a", "b"}, []string{"a"}, nil, "a"},
		"pieces without a byte":  {[]string{"", "a", ""}, nil, []string{"a"}, ""},
		"nothing to be cut from": {nil, []string{"a"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, stop := llm.CutAtStop(test.pieces, test.stops)
			if diff := cmp.Diff(test.want, kept); diff != "" || stop != test.stop {
				t.Errorf("the stop string is %q; want -, got +:\n%s", stop, diff)
			}
		})
	}
}

// What is kept is the text before the first stop string, wherever the borders of the pieces are.
func TestCutAtStopProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringMatching(`[ab夜]{0,3}`)).Draw(t, "pieces")
		stop := rapid.StringMatching(`[ab夜]{1,2}`).Draw(t, "stop")
		kept, found := llm.CutAtStop(pieces, []string{stop})
		want, _, in := strings.Cut(strings.Join(pieces, ""), stop)
		if strings.Join(kept, "") != want || (found == stop) != in {
			t.Fatalf("%q before %q is %q, %q", pieces, stop, kept, found)
		}
	})
}

func TestRequestCheck(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]llm.Request{
		"":                                     {Prompt: "夜", Sampling: llm.Sampling{MaxTokens: 1, Stop: []string{"。"}}},
		"max tokens is 0; it must be positive": {Prompt: "夜"},
		"the text is not valid UTF-8 and cannot be sent as it is":                                                  {Prompt: "\xff", Sampling: llm.Sampling{MaxTokens: 1}},
		"suffix is 4; it must be a number of bytes at the end of a prompt of 3, and not begin inside a character":  {Prompt: "夜", Suffix: 4, Sampling: llm.Sampling{MaxTokens: 1}},
		"suffix is 2; it must be a number of bytes at the end of a prompt of 3, and not begin inside a character":  {Prompt: "夜", Suffix: 2, Sampling: llm.Sampling{MaxTokens: 1}},
		"suffix is -1; it must be a number of bytes at the end of a prompt of 3, and not begin inside a character": {Prompt: "夜", Suffix: -1, Sampling: llm.Sampling{MaxTokens: 1}},
		"stop string 1 is empty or not valid UTF-8":                                                                {Sampling: llm.Sampling{MaxTokens: 1, Stop: []string{"a", ""}}},
		"stop string 0 is empty or not valid UTF-8":                                                                {Sampling: llm.Sampling{MaxTokens: 1, Stop: []string{"\xff"}}},
	} {
		got := ""
		if err := r.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v gives %q, not %q", r, got, want)
		}
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	if e := llm.Ended(t.Context()); e != nil {
		t.Errorf("a context that goes on gives %v", e)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if e := llm.Ended(cancelled); e.Fault != llm.FaultCancelled || !errors.Is(e, context.Canceled) {
		t.Errorf("a cancelled context gives %+v", e)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if e := llm.Ended(late); e.Fault != llm.FaultTimeout || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("a context past its deadline gives %+v", e)
	}
}

func TestCheckOfMessages(t *testing.T) {
	t.Parallel()
	said := func(m ...llm.Message) llm.Request {
		return llm.Request{Messages: m, Sampling: llm.Sampling{MaxTokens: 1}}
	}
	offers := func(all ...llm.Tool) llm.Request {
		r := said(llm.Message{Role: llm.RoleUser})
		r.Tools = all
		return r
	}
	call := []llm.ToolCall{{ID: "c1", Name: "node_detail", Arguments: `{"node_id":"a"}`}}
	both := said(llm.Message{Role: llm.RoleUser, Content: "a"})
	both.Prompt = "b"
	for _, c := range []struct {
		name string
		req  llm.Request
		want string
	}{
		{"a whole conversation", said(
			llm.Message{Role: llm.RoleSystem, Content: "s"}, llm.Message{Role: llm.RoleUser, Content: "u"},
			llm.Message{Role: llm.RoleAssistant, Calls: call}, llm.Message{Role: llm.RoleTool, CallID: "c1", Content: "t"},
		), ""},
		{"a prompt as well", both, "only one of them"},
		{"tools alone", llm.Request{Prompt: "a", Tools: []llm.Tool{{Name: "x"}}, Sampling: llm.Sampling{MaxTokens: 1}}, "tools go with messages"},
		{"no role", said(llm.Message{Content: "a"}), `its role is ""`},
		{"bad bytes", said(llm.Message{Role: llm.RoleUser}, llm.Message{Role: llm.RoleUser, Content: "\xff"}), "message 1: the text is not valid UTF-8"},
		{"a user who calls", said(llm.Message{Role: llm.RoleUser, Calls: call}), "only an assistant"},
		{"a tool without a call", said(llm.Message{Role: llm.RoleTool}), "names the call"},
		{"an answer to no call", said(llm.Message{Role: llm.RoleAssistant, Calls: call}, llm.Message{Role: llm.RoleTool, CallID: "c2"}), `message 1: it answers the call "c2"`},
		{"arguments that are cut", said(llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "c1", Name: "x", Arguments: `{"a"`}}}), `the arguments of "x" are no JSON object`},
		{"arguments that are none", said(llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "c1", Name: "x", Arguments: "null"}}}), `the arguments of "x" are no JSON object`},
		{"a tool without arguments", offers(llm.Tool{Name: "x"}), ""},
		{"a tool without a name", offers(llm.Tool{Name: "x"}, llm.Tool{Schema: "{}"}), "tool 1: its name is"},
		{"a schema that is a list", offers(llm.Tool{Name: "x", Schema: "[]"}), "its schema is no JSON object"},
		{"a description of bad bytes", offers(llm.Tool{Name: "x", Description: "\xff"}), "tool 0: the text is not valid UTF-8"},
		{"a call id of a user", said(llm.Message{Role: llm.RoleUser, CallID: "c1"}), "names the call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.req.Check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckForAKindOfServer(t *testing.T) {
	t.Parallel()
	talk := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "a"}, {Role: llm.RoleAssistant, Content: "b"}}, Sampling: llm.Sampling{MaxTokens: 1}}
	tools := talk
	tools.Tools = []llm.Tool{{Name: "x"}}
	for _, c := range []struct {
		req  llm.Request
		told llm.Told
		want string
	}{
		{talk, llm.Told{}, "only prompts"},
		{talk, llm.Told{Conversations: true}, ""},
		{tools, llm.Told{Conversations: true}, "tools cannot be sent"},
		{tools, llm.Told{Conversations: true, Tools: true}, ""},
	} {
		if err := c.req.CheckFor(c.told); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.told, err, c.want)
		}
	}
	if got := talk.Text(); got != "a\n\nb" {
		t.Errorf("the text is %q", got)
	}
}
