package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Each token takes this long by the server's own timings. No time passes.
const (
	promptMS  = 2.5
	predictMS = 8.0
)

// work is one answer in the making.
type work struct {
	s        *Server
	w        http.ResponseWriter
	r        *http.Request
	faults   Faults
	stepped  bool
	final    final
	pieces   []string // of the answer, cut at a stop string, a limit or the window
	stream   bool
	tokenIDs []int
}

func (s *Server) completion(w http.ResponseWriter, r *http.Request, c call) {
	var ask struct {
		Prompt string   `json:"prompt"`
		Max    int      `json:"n_predict"`
		Stop   []string `json:"stop"`
		Stream bool     `json:"stream"`
		Cache  *bool    `json:"cache_prompt"`
	}
	ask.Max = -1
	if !read(w, c.body, &ask) {
		return
	}
	prompt := c.options.tokens(ask.Prompt, true)
	if len(prompt) >= c.options.Window {
		refuse(w, failure{Code: http.StatusBadRequest, Type: "exceed_context_size_error",
			Message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it",
				len(prompt), c.options.Window),
			Tokens: len(prompt), Window: c.options.Window})
		return
	}
	job := &work{s: s, w: w, r: r, faults: c.faults, stepped: c.options.Stepped, stream: ask.Stream}
	job.final = final{Tokens: []int{}, Slot: 1, Stop: true, Model: c.options.Model, Evaluated: len(prompt),
		Settings: settingsWith(ask.Stop), Prompt: ask.Prompt, Content: quoted("")}
	job.decide(c.options, ask.Max, ask.Stop, len(prompt))
	job.time(len(prompt), s.reuse(prompt, ask.Cache))
	s.occupy(1)
	defer s.occupy(-1)
	job.run()
}

// reuse remembers a prompt and says how much of it is that of the last one. At least one token is always read.
func (s *Server) reuse(prompt []string, wanted *bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(prompt)-1 && n < len(s.cached) && prompt[n] == s.cached[n] {
		n++
	}
	s.cached = prompt
	if wanted != nil && !*wanted {
		return 0
	}
	return n
}

func (s *Server) occupy(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots += n
}

// decide fixes the answer: what the model says, less what a stop string, the limit and the window take away.
func (j *work) decide(o Options, most int, stops []string, prompt int) {
	pieces := o.Reply(j.final.Prompt)
	j.final.StopType = "eos"
	if room := o.Window - prompt; most < 0 || room < most {
		if len(pieces) > room {
			j.final.Truncated = true
		}
		most = room
	}
	if len(pieces) > most {
		pieces, j.final.StopType = pieces[:most], "limit"
	}
	kept, stop := llm.CutAtStop(pieces, stops)
	j.pieces, j.final.Predicted = kept, len(pieces)
	if stop != "" {
		j.final.StopType, j.final.StoppingWord, j.final.Predicted = "word", stop, len(kept)+1
	}
	for _, p := range kept {
		j.tokenIDs = append(j.tokenIDs, o.number(p))
	}
	j.final.NewLine = strings.Contains(strings.Join(kept, ""), "\n")
}

func (j *work) time(prompt, cached int) {
	n := j.final.Predicted
	j.final.Cached = prompt + max(n-1, 0)
	j.final.Timings = timings{
		CacheN: cached, PromptN: prompt - cached, PromptMS: float64(prompt-cached) * promptMS,
		PromptPerToken: promptMS, PromptPerSecond: 1000 / promptMS,
		PredictedN: n, PredictedMS: float64(n) * predictMS, PredictedPerToken: predictMS, PredictedPerSecond: 1000 / predictMS,
	}
}

// run sends the answer.
func (j *work) run() {
	if !j.stream {
		j.final.Content = quoted(strings.Join(j.pieces, ""))
		answer(j.w, http.StatusOK, j.final)
		return
	}
	j.w.Header().Set("X-Accel-Buffering", "no")
	j.w.Header().Set("Content-Type", "text/event-stream")
	for i, p := range j.pieces {
		if !j.next() || j.broken(i) {
			return
		}
		j.event(part{Content: quoted(p), Tokens: []int{j.tokenIDs[i]}, Slot: -1, Predicted: i + 1, Evaluated: j.final.Evaluated})
	}
	if !j.next() || j.broken(len(j.pieces)) {
		return
	}
	j.event(j.final)
}

// next waits for its turn and says whether the client is still there.
func (j *work) next() bool {
	turn := j.s.steps
	if !j.stepped {
		turn = free
	}
	select {
	case <-j.r.Context().Done():
		select {
		case j.s.aborted <- j.final.Prompt:
		default: // nobody looks at a thousand of them
		}
		return false
	case <-j.s.closed:
		return false
	case <-turn:
		return true
	}
}

// free is a turn that always comes.
var free = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// broken lets the stream go wrong when it is time for that, and says whether it did.
func (j *work) broken(sent int) bool {
	if j.faults.Break == "" || sent < j.faults.BreakAfter {
		return false
	}
	why := failure{Code: http.StatusInternalServerError, Message: "Compute error.", Type: "server_error"}
	switch j.faults.Break {
	case BreakCut:
		_ = http.NewResponseController(j.w).Flush() // so that the headers are there before the end
		panic(http.ErrAbortHandler)
	case BreakError:
		j.event(failed{why})
	case BreakErrorField:
		j.line("error: ", why)
		j.send("data: [DONE]\n\n")
	case BreakGarbage:
		j.send("data: {\"index\":0,\"content\"\n\n")
	case BreakSilent:
		_ = http.NewResponseController(j.w).Flush() // as above
		j.s.wait(j.r)
	case BreakEnd:
	}
	return true
}

func (j *work) event(v any) { j.line("data: ", v) }

func (j *work) line(field string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: an event cannot be written: %v", err)) // a fault of this package
	}
	j.send(field + string(data) + "\n\n")
}

// send writes and flushes; when the client has gone, next notices.
func (j *work) send(s string) {
	_, _ = j.w.Write([]byte(s))
	_ = http.NewResponseController(j.w).Flush() // as above
}
