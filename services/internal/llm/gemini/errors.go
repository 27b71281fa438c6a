package gemini

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"google.golang.org/genai"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// words reads the body of a refusal, which may stand in a list.
func words(body []byte) wire.Words {
	type refusal struct {
		Error *genai.APIError `json:"error"`
	}
	var one refusal
	if json.Unmarshal(body, &one) != nil {
		var list []refusal
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return wire.Words{}
		}
		one = list[0]
	}
	if one.Error == nil {
		return wire.Words{}
	}
	return told(one.Error)
}

// overLimit is what the service says of a prompt that is too long. Not every model tells how long it is.
var overLimit = regexp.MustCompile(`input token count *(?:\((\d+)\))? *exceeds the maximum number of tokens allowed *\(?(\d+)`)

// told reads what the service says of itself (google.rpc.Status, with ErrorInfo and RetryInfo in its details).
func told(e *genai.APIError) wire.Words {
	w := wire.Words{Status: e.Code, Message: e.Message}
	for _, detail := range e.Details {
		if detail["reason"] == "API_KEY_INVALID" {
			w.Key = true
		}
		if text, ok := detail["retryDelay"].(string); ok {
			delay, _ := time.ParseDuration(text) // 0 for what is none
			w.RetryAfter = max(w.RetryAfter, delay)
		}
	}
	if found := overLimit.FindStringSubmatch(e.Message); found != nil {
		w.Fault = llm.FaultTooLong
		w.Tokens, _ = strconv.Atoi(found[1]) // 0 where it is not told
		w.Window, _ = strconv.Atoi(found[2]) // as above
	}
	if e.Code == http.StatusNotFound && e.Status == "NOT_FOUND" {
		w.Fault = llm.FaultRefused // the model, not the endpoint
	}
	return w
}
