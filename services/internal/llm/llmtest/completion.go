package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// Each token takes this long by the server's own timings. No time passes.
const (
	promptMS  = 2.5
	predictMS = 8.0
)

// work is one answer in the making.
type work struct {
	servertest.Stream
	final    final
	pieces   []string // of the answer, cut at a stop string, a limit or the window
	stream   bool
	tokenIDs []int
}

func (s *Server) completion(w http.ResponseWriter, r *http.Request, c call) {
	var ask struct {
		Prompt  string          `json:"prompt"`
		Max     int             `json:"n_predict"`
		Stop    []string        `json:"stop"`
		Stream  bool            `json:"stream"`
		Cache   *bool           `json:"cache_prompt"`
		Grammar string          `json:"grammar"`
		Schema  json.RawMessage `json:"json_schema"`
	}
	ask.Max = -1
	if !read(w, c.body, &ask) {
		return
	}
	if servertest.Malformed(ask.Grammar) {
		refuse(w, failure{Code: http.StatusBadRequest, Message: "Failed to initialize samplers: failed to parse grammar", Type: "invalid_request_error"})
		return
	}
	prompt, _ := c.options.tokens(ask.Prompt, true)
	if len(prompt) >= c.options.Window {
		refuse(w, failure{Code: http.StatusBadRequest, Type: "exceed_context_size_error",
			Message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it",
				len(prompt), c.options.Window),
			Tokens: len(prompt), Window: c.options.Window})
		return
	}
	job := &work{stream: ask.Stream, Stream: servertest.Stream{
		Server: s.Server, W: w, R: r, Prompt: ask.Prompt, Stepped: c.options.Stepped, Break: c.faults.Break, After: c.faults.BreakAfter,
		Wrong: map[servertest.Break]string{
			servertest.BreakError:      line("data: ", failed{broken}),
			servertest.BreakErrorField: line("error: ", broken) + "data: [DONE]\n\n",
			servertest.BreakGarbage:    "data: {\"index\":0,\"content\"\n\n",
		},
	}}
	job.final = final{Tokens: []int{}, Slot: 1, Stop: true, Model: c.options.Model, Evaluated: len(prompt),
		Settings: settingsWith(ask.Stop), Prompt: ask.Prompt, Content: quoted("")}
	if held := servertest.Held(ask.Schema); held != "" {
		c.options.Reply = func(string) []string { return servertest.Runes(held) }
	}
	job.decide(c.options, ask.Max, ask.Stop, len(prompt))
	cached := s.Reuse(prompt)
	if ask.Cache != nil && !*ask.Cache {
		cached = 0
	}
	job.time(len(prompt), cached)
	s.Run(1)
	defer s.Run(-1)
	job.run()
}

// broken is what the server says when it fails in the middle.
var broken = failure{Code: http.StatusInternalServerError, Message: "Compute error.", Type: "server_error"}

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
		answer(j.W, http.StatusOK, j.final)
		return
	}
	j.W.Header().Set("X-Accel-Buffering", "no")
	j.W.Header().Set("Content-Type", "text/event-stream")
	for i, p := range j.pieces {
		if !j.Next(i) {
			return
		}
		j.Send(line("data: ", part{Content: quoted(p), Tokens: []int{j.tokenIDs[i]}, Slot: -1, Predicted: i + 1, Evaluated: j.final.Evaluated}))
	}
	if j.Next(len(j.pieces)) {
		j.Send(line("data: ", j.final))
	}
}

func line(field string, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: an event cannot be written: %v", err)) // a fault of this package
	}
	return field + string(data) + "\n\n"
}

func quoted(s string) json.RawMessage { return json.RawMessage(servertest.Quoted(s)) }
