package scripted_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/scripted"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func play(t *testing.T, text string) *scripted.Backend {
	t.Helper()
	script, err := scripted.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New("play", "replies.yaml", script)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const calls = "{matches: '</tool_call>$', text: 見てみます。, calls: [{name: node_detail, arguments: '{\"node_id\": \"a1b2c304\"}'}]}, "
	for name, script := range map[string]string{
		"characters": "replies: [" + calls + "{text: むかしむかし、あるところに。}]",
		"pieces":     "characters_per_token: 2\nreplies: [" + calls + "{pieces: [お, じい, さんと, お, ばあ, さんが, い, ました, 。]}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, conformance.Subject{Backend: play(t, script), Prompt: "むかし", NoSchema: true})
		})
	}
}

// ask gives the answer to a prompt and how it ended.
func ask(t *testing.T, b *scripted.Backend, prompt string) (text string, end error) {
	t.Helper()
	stream, err := b.Generate(t.Context(), llm.Request{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: 100}})
	if err != nil {
		return "", err
	}
	for {
		piece, err := stream.Recv()
		if err != nil {
			return text, err
		}
		text += piece
	}
}

func TestWhichReply(t *testing.T) {
	t.Parallel()
	b := play(t, `
replies:
  - {contains: 夜, times: 2, text: first}
  - {contains: 夜, matches: "港$", text: second}
  - {matches: "^\\d+$", text: third}
  - {contains: 朝, text: fourth, times: 1}
`)
	var got []string
	for _, prompt := range []string{"朝の港", "夜の街", "夜の街", "夜の街", "夜の港", "42", "朝"} {
		text, end := ask(t, b, prompt)
		if !errors.Is(end, io.EOF) {
			text = end.Error()
		}
		got = append(got, text)
	}
	none := `backend "play" at replies.yaml: no reply of the script fits the prompt, or those that fit are used up`
	want := []string{"fourth", "first", "first", none, "second", "third", none}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	b := play(t, `
replies:
  - {contains: busy, fail: {fault: busy, retry_after: 5s, message: come back later}}
  - {contains: cut, pieces: [a, b, c], fail: {fault: cut, after: 2}}
  - {contains: late, text: xy, fail: {fault: timeout, after: 2}}
`)
	for prompt, want := range map[string]struct {
		text, message string
		fault         llm.Fault
		retry         time.Duration
	}{
		"busy": {"", "come back later", llm.FaultBusy, 5 * time.Second},
		"cut":  {"ab", "the script says that the server is cut", llm.FaultCut, 0},
		"late": {"xy", "the script says that the server is timeout", llm.FaultTimeout, 0},
	} {
		text, end := ask(t, b, prompt)
		var e *llm.Error
		if !errors.As(end, &e) || text != want.text || e.Fault != want.fault || e.Message != want.message || e.RetryAfter != want.retry {
			t.Errorf("%s gave %q and %+v", prompt, text, end)
		}
	}
}

// A reply that calls waits for a request with tools; a stop string ends it before it calls.
func TestRepliesThatCall(t *testing.T) {
	t.Parallel()
	b := play(t, "replies: [{text: ab, calls: [{name: node_detail}, {name: now, arguments: '{\"z\":1,\"a\":2}'}]}, {text: c}]")
	r := servertest.Calling()
	text, result, err := servertest.Ask(t, b, r)
	want := []llm.ToolCall{{Name: "node_detail", Arguments: "{}"}, {Name: "now", Arguments: `{"z":1,"a":2}`}}
	if diff := cmp.Diff(want, result.Calls); diff != "" || text != "ab" || err != nil {
		t.Errorf("%q, %v; want -, got +:\n%s", text, err, diff)
	}
	r.Sampling.Stop = []string{"b"}
	if text, result, err := servertest.Ask(t, b, r); text != "a" || result.Calls != nil || err != nil {
		t.Errorf("before a stop string it says %q with %+v, %v", text, result, err)
	}
	r.Tools = nil
	if text, _, err := servertest.Ask(t, b, r); text != "c" || err != nil {
		t.Errorf("without tools it says %q, %v", text, err)
	}
}

// A cancelled caller does not wait for the script's delay.
func TestDelays(t *testing.T) {
	t.Parallel()
	b := play(t, "replies: [{pieces: [a, b], wait: 1ms, delay: 2ms}, {contains: never, text: x, delay: 1h}]")
	stream, err := b.Generate(t.Context(), llm.Request{Prompt: "x", Sampling: llm.Sampling{MaxTokens: 9}})
	for err == nil {
		_, err = stream.Recv()
	}
	want := llm.Result{Finish: llm.FinishStop, PromptTokens: 1, AnswerTokens: 2, PromptTime: time.Millisecond, AnswerTime: 4 * time.Millisecond}
	if diff := cmp.Diff(want, stream.Result()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	b = play(t, "replies: [{text: x, delay: 1h}]")
	ctx, cancel := context.WithCancel(t.Context())
	slow, err := b.Generate(ctx, llm.Request{Prompt: "x", Sampling: llm.Sampling{MaxTokens: 9}})
	if err != nil {
		t.Fatal(err)
	}
	go cancel()
	if piece, err := slow.Recv(); piece != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("Recv gives %q, %v", piece, err)
	}
}

func TestProblemsAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := scripted.Parse([]byte(`
model: ""
window: 0
characters_per_token: 65
colour: red
replies:
  - {matches: "(", times: -1, text: a, pieces: [b, ""], wait: -1s, delay: 2h}
  - {text: ab, fail: {fault: tired, after: 3, retry_after: 61m}}
  - {delay: 5}
  - {calls: [{}, {name: x, arguments: "[1]"}]}
`))
	want := []string{
		`line 5: colour: unknown key`,
		`line 9: replies[2].delay: "5" must be a duration with its unit, such as 500ms, 15s or 2m`,
		`model: is empty; leave it out for "scripted"`,
		`window: is 0; it must be from 1 to 16777216 tokens`,
		`characters_per_token: is 65; it must be from 1 to 64`,
		"replies[0].matches: is no regular expression: error parsing regexp: missing closing ): `(`",
		`replies[0].times: is -1; it must be 0 (always) or more`,
		`replies[0].pieces: stand beside text; only one of them can be the answer`,
		`replies[0].pieces[1]: is empty`,
		`replies[0].wait: is -1s; it must be from 0s to 1h0m0s`,
		`replies[0].delay: is 2h0m0s; it must be from 0s to 1h0m0s`,
		`replies[1].fail.fault: is "tired"; it must be one of unreachable, loading, busy, too_long, refused, cut, protocol, timeout`,
		`replies[1].fail.after: is 3; it must be from 0 to the 2 pieces of the answer`,
		`replies[1].fail.retry_after: is 1h1m0s; it must be from 0s to 1h0m0s`,
		`replies[3].calls[0].name: is missing; it must be the name of a tool`,
		`replies[3].calls[1].arguments: is no JSON object; it must be one, as text`,
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for _, text := range []string{"", "replies: []", "- a", "replies: [", "a: 1\na: 2"} {
		if _, err := scripted.Parse([]byte(text)); err == nil {
			t.Errorf("%q is a script", text)
		}
	}
}

// FuzzParse: whatever the file says, reading it ends with a script that plays or with an error.
func FuzzParse(f *testing.F) {
	f.Add("replies: [{text: a}]", "p")
	f.Add("window: 2\nreplies: [{matches: '^p', pieces: [a, b], fail: {fault: cut, after: 1}}]", "p")
	f.Add("replies: [{contains: x, times: 1}]", "x")
	f.Fuzz(func(t *testing.T, text, prompt string) {
		script, err := scripted.Parse([]byte(text))
		if err != nil || strings.Contains(text, "wait") || strings.Contains(text, "delay") {
			return
		}
		stream, err := scripted.New("f", "f.yaml", script).Generate(t.Context(),
			llm.Request{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: 5}})
		for i := 0; err == nil; i++ {
			if _, err = stream.Recv(); i > 5 {
				t.Fatal("more than 5 tokens")
			}
		}
	})
}
