package ollamatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

const (
	// standardWindow is what a request gets that asks for none, on a machine with little memory.
	standardWindow = 4096
	// kept is how many tokens of a prompt stay at its front when it is cut.
	kept = 4
	// Each token takes this long by the server's own timings, in nanoseconds. No time passes.
	promptNanos = 2_500_000
	answerNanos = 8_000_000
)

// request is what an endpoint is asked.
type request struct {
	Model    string          `json:"model"`
	Prompt   string          `json:"prompt"`
	Stream   *bool           `json:"stream"`
	Raw      bool            `json:"raw"`
	Messages []message       `json:"messages"`
	Tools    []tool          `json:"tools"`
	Think    *bool           `json:"think"`
	Truncate *bool           `json:"truncate"`
	Shift    *bool           `json:"shift"`
	Format   json.RawMessage `json:"format"`
	Options  struct {
		Window int      `json:"num_ctx"`
		Most   *int     `json:"num_predict"`
		Stop   []string `json:"stop"`
	} `json:"options"`
}

// on is a switch, which is on where it is left out.
func on(b *bool) bool { return b == nil || *b }

func (s *Server) generate(w http.ResponseWriter, r *http.Request, o Options, f Faults, ask request) {
	window := ask.Options.Window
	if window == 0 {
		window = standardWindow
	}
	window = s.load(window)
	if ask.Prompt == "" {
		answer(w, http.StatusOK, object{"model": o.Model, "created_at": created, "response": "", "done": true, "done_reason": "load"})
		return
	}
	tokens := o.Count(ask.Prompt) + len(ask.Messages)*around
	if tokens >= window {
		if !on(ask.Truncate) && !o.Old {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("the prompt of %d tokens exceeds the context of %d", tokens, window))
			return
		}
		tokens = kept + (window-kept)/2 // and not a word about it
	}
	j := &work{o: o, chat: ask.Messages != nil, window: window, tokens: tokens, cached: s.cached(ask.Prompt, tokens), Stream: servertest.Stream{
		Server: s.Server, W: w, R: r, Prompt: ask.Prompt, Stepped: o.Stepped, Break: f.Break, After: f.BreakAfter,
		Wrong: map[servertest.Break]string{
			servertest.BreakError:   `{"error":"an error was encountered while running the model"}` + "\n",
			servertest.BreakGarbage: `{"model":"story","response"` + "\n",
		},
	}}
	j.decide(ask)
	j.run(o.Thinks && on(ask.Think))
}

// cached is how much of a prompt comes from the cache, one token a character at most.
func (s *Server) cached(prompt string, tokens int) int {
	return min(s.Reuse(servertest.Runes(prompt)), max(tokens-1, 0))
}

// work is one answer in the making.
type work struct {
	servertest.Stream
	o              Options
	window         int
	tokens, cached int
	pieces         []string
	calls          []object
	chat           bool
	reason         string
	made           int // tokens that were generated
}

// decide fixes the answer: what the model says, less what the limit, the window and a stop string take away.
func (j *work) decide(ask request) {
	pieces, most := j.o.Reply(ask.Prompt), -1
	if held := servertest.Held(ask.Format); held != "" {
		pieces = servertest.Runes(held)
	}
	calls, spelt := ask.calls()
	if calls != nil {
		pieces = spelt // which the server takes for calls, and sends none of it
	}
	if ask.Options.Most != nil {
		most = *ask.Options.Most
	}
	if room := j.window - j.tokens; (!on(ask.Shift) || j.o.Old) && (most < 0 || room < most) {
		most = room
	}
	j.reason = "stop"
	if most >= 0 && len(pieces) > most {
		pieces, j.reason = pieces[:most], "length"
	}
	j.made = len(pieces)
	kept, stop := llm.CutAtStop(pieces, ask.Options.Stop)
	if j.pieces = kept; stop != "" {
		j.reason, j.made = "stop", len(kept)+1
	}
	if calls != nil {
		j.pieces = nil
		if j.reason == "stop" {
			j.calls = calls
		}
	}
}

const created = "2026-10-26T17:15:24.097767Z"

// run sends the lines.
func (j *work) run(thinks bool) {
	j.W.Header().Set("Content-Type", "application/x-ndjson")
	for i, p := range j.pieces {
		if !j.Next(i) {
			return
		}
		text, thought := servertest.Quoted(p), `""`
		if thinks {
			text, thought = thought, text
			thinks = p != "</think>"
		}
		j.line(j.said(text, thought), "")
	}
	for i, c := range j.calls {
		if !j.Next(i) {
			return
		}
		data, _ := json.Marshal([]object{c}) // plain values: cannot fail
		j.line(`"message":{"role":"assistant","content":"","tool_calls":`+string(data)+`}`, "")
	}
	if !j.Next(len(j.pieces)) {
		return
	}
	figures, _ := json.Marshal(object{ // as above
		"done_reason": j.reason, "total_duration": 174560334, "load_duration": 101397084, "prompt_eval_count": j.tokens, "prompt_eval_cached_count": j.cached,
		"prompt_eval_duration": (j.tokens - j.cached) * promptNanos, "eval_count": j.made, "eval_duration": j.made * answerNanos,
	})
	j.line(j.said(`""`, `""`), strings.Trim(string(figures), "{}"))
}

// said is what a line says: of a prompt, or of a conversation. Both are JSON strings.
func (j *work) said(text, thought string) string {
	if thought != `""` {
		text += `,"thinking":` + thought
	}
	if j.chat {
		return `"message":{"role":"assistant","content":` + text + `}`
	}
	return `"response":` + text
}

// line sends one; the last one has figures.
func (j *work) line(said, figures string) {
	done := figures != ""
	if done {
		figures = "," + figures
	}
	j.Send(fmt.Sprintf("{\"model\":%q,\"created_at\":%q,%s,\"done\":%v%s}\n", j.o.Model, created, said, done, figures))
}
