package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// maxStops is how many stop strings a request may have.
const maxStops = 5

// request is what streamGenerateContent takes of what clients here send.
type request struct {
	System   *content  `json:"systemInstruction"`
	Contents []content `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		Temperature *float64        `json:"temperature"`
		TopP        *float64        `json:"topP"`
		TopK        *float64        `json:"topK"`
		Presence    *float64        `json:"presencePenalty"`
		Frequency   *float64        `json:"frequencyPenalty"`
		Seed        *int32          `json:"seed"`
		Most        int             `json:"maxOutputTokens"`
		Stop        []string        `json:"stopSequences"`
		Type        string          `json:"responseMimeType"`
		Schema      json.RawMessage `json:"responseJsonSchema"`
		Thinking    *struct {
			Budget *int `json:"thinkingBudget"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

func (s *Server) generate(c call) {
	var ask request
	prompt, ok := c.read(&ask, &ask.Contents)
	if !ok {
		return
	}
	if ask.System != nil {
		prompt = ask.System.text() + prompt
	}
	tokens := utf8.RuneCountInString(prompt) + c.options.Extra
	if wrong := c.badTools(ask); wrong != "" {
		c.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", wrong)
		return
	}
	switch {
	case len(ask.Config.Stop) > maxStops:
		c.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "* GenerateContentRequest.generation_config.stop_sequences: there are more than 5\n")
		return
	case c.options.Limit > 0 && tokens > c.options.Limit:
		told := fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, c.options.Limit)
		if c.options.Untold {
			told = fmt.Sprintf("The input token count exceeds the maximum number of tokens allowed %d.", c.options.Limit)
		}
		c.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", told)
		return
	}
	j := &work{call: c, tokens: tokens, cached: s.Reuse(servertest.Runes(prompt)), Stream: servertest.Stream{
		Server: s.Server, W: c.w, R: c.r, Prompt: prompt, Stepped: c.options.Stepped, Break: c.faults.Break, After: c.faults.BreakAfter,
		Wrong: map[servertest.Break]string{
			servertest.BreakError:   event(`"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}`),
			servertest.BreakGarbage: "data: {\"candidates\": [{\r\n\r\n",
		},
	}}
	j.decide(ask)
	j.run()
}

// work is one answer in the making.
type work struct {
	call
	servertest.Stream
	tokens, cached int
	thoughts       int
	pieces         []string
	calls          []string // parts
	reason         string
	made           int // tokens that were written
}

// decide fixes the answer: what the model says, less what thinking, the limit and a stop string take away.
func (j *work) decide(ask request) {
	most := ask.Config.Most
	if most == 0 {
		most = 65536
	}
	j.thoughts = min(j.options.Thoughts, most)
	if t := ask.Config.Thinking; t != nil && t.Budget != nil {
		j.thoughts = min(j.thoughts, *t.Budget)
	}
	pieces := j.options.Reply(j.Prompt)
	if held := servertest.Held(ask.Config.Schema); held != "" && ask.Config.Type == "application/json" {
		pieces = servertest.Runes(held)
	}
	calls, spelt := ask.calls()
	if calls != nil {
		pieces = spelt // which the service takes for calls, and sends none of it
	}
	j.reason = "STOP"
	if room := most - j.thoughts; len(pieces) > room {
		pieces, j.reason = pieces[:room], "MAX_TOKENS"
	}
	j.made = len(pieces)
	kept, stop := llm.CutAtStop(pieces, ask.Config.Stop)
	if j.pieces = kept; stop != "" {
		j.reason, j.made = "STOP", len(kept)+1
	}
	if calls != nil {
		j.pieces = nil
		if j.reason == "STOP" {
			j.calls = calls
		}
	}
	if j.options.Finish != "" {
		j.reason = j.options.Finish
	}
}

// run sends the events. The last one has the finish reason and all figures.
func (j *work) run() {
	j.w.Header().Set("Content-Type", "text/event-stream")
	if j.options.Block != "" {
		ratings := `[{"category":"HARM_CATEGORY_HARASSMENT","probability":"HIGH","blocked":true}]`
		j.Send(event(fmt.Sprintf(`"promptFeedback":{"blockReason":%q,"safetyRatings":%s},%s`, j.options.Block, ratings, j.usage(0))))
		return
	}
	for i, p := range j.pieces {
		if !j.Next(i) {
			return
		}
		j.Send(event(fmt.Sprintf(`"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"},"index":0}],%s`, servertest.Quoted(p), j.usage(0))))
	}
	if j.calls != nil {
		j.Send(event(fmt.Sprintf(`"candidates":[{"content":{"parts":[%s],"role":"model"},"index":0}],%s`, strings.Join(j.calls, ","), j.usage(0))))
	}
	if !j.Next(len(j.pieces)) {
		return
	}
	ratings := ""
	if j.reason == "SAFETY" {
		ratings = `,"safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true},` +
			`{"category":"HARM_CATEGORY_HARASSMENT","probability":"LOW"}]`
	}
	j.Send(event(fmt.Sprintf(`"candidates":[{"content":{"role":"model"},"finishReason":%q,"index":0%s}],%s`, j.reason, ratings, j.usage(j.made))))
}

func (j *work) usage(made int) string {
	u := object{"promptTokenCount": j.tokens, "totalTokenCount": j.tokens + made + j.thoughts, "cachedContentTokenCount": j.cached}
	if made > 0 {
		u["candidatesTokenCount"] = made
	}
	if j.thoughts > 0 {
		u["thoughtsTokenCount"] = j.thoughts
	}
	data, _ := json.Marshal(u) // plain values: cannot fail
	return `"usageMetadata":` + string(data) + `,"modelVersion":"` + j.options.Model + `","responseId":"n4F"`
}

// event is one with these fields, with the line ends of the service.
func event(fields string) string { return "data: {" + fields + "}\r\n\r\n" }
