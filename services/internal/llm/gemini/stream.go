package gemini

import (
	"encoding/json"
	"io"
	"strings"

	"google.golang.org/genai"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// answer reads the events of streamGenerateContent.
type answer struct {
	server *wire.Server
	text   wire.Assembler
	stops  wire.Stops // those that the service was not told
	calls  wire.Calls
	spoken bool // there was text
	reason genai.FinishReason
	result llm.Result
}

// event is one event. The texts stay as they came, since encoding/json would put U+FFFD for what is no UTF-8.
type event struct {
	Candidates []candidate                                  `json:"candidates"`
	Feedback   *genai.GenerateContentResponsePromptFeedback `json:"promptFeedback"`
	Usage      *genai.GenerateContentResponseUsageMetadata  `json:"usageMetadata"`
	Error      *genai.APIError                              `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []struct {
			Text      json.RawMessage `json:"text"`
			Thought   bool            `json:"thought"`
			Call      *functionCall   `json:"functionCall"`
			Signature string          `json:"thoughtSignature"`
		} `json:"parts"`
	} `json:"content"`
	Reason  genai.FinishReason    `json:"finishReason"`
	Ratings []*genai.SafetyRating `json:"safetyRatings"`
}

// Take implements wire.Answer.
func (a *answer) Take(e wire.Event) (string, error) {
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return a.stops.Rest(), a.server.Fault(llm.FaultProtocol, err, "an event of the stream is not the JSON of the Gemini API")
	}
	a.note(v.Usage)
	switch {
	case v.Error != nil:
		return a.stops.Rest(), a.server.Told(told(v.Error), llm.FaultCut)
	case v.Feedback != nil && v.Feedback.BlockReason != "":
		return "", a.server.Fault(llm.FaultRefused, nil, "a filter of the service refuses the prompt: %s", because(string(v.Feedback.BlockReason), v.Feedback.SafetyRatings))
	case len(v.Candidates) > 0: // others were not asked for
		return a.candidate(v.Candidates[0])
	case v.Usage == nil:
		return a.stops.Rest(), a.server.Fault(llm.FaultProtocol, nil, "an event of the stream has no candidates field")
	}
	return "", nil
}

// candidate moves the answer on by the text of an event.
func (a *answer) candidate(c candidate) (string, error) {
	text := ""
	for _, part := range c.Content.Parts {
		if f := part.Call; f != nil {
			if err := a.calls.AddWhole(llm.ToolCall{ID: f.ID, Name: f.Name, Arguments: string(f.Args), Signature: part.Signature}); err != nil {
				return text + a.stops.Rest(), a.server.Fault(llm.FaultProtocol, err, "%v", err)
			}
		}
		if part.Text == nil || part.Thought {
			continue
		}
		piece, damage := a.text.Add(part.Text)
		a.spoken = a.spoken || piece != ""
		text += a.stops.Add(piece)
		if damage != nil {
			return text + a.stops.Rest(), a.server.Fault(llm.FaultProtocol, damage, "the text of the answer is damaged: %v", damage)
		}
	}
	if stop := a.stops.Found(); stop != "" {
		a.result.Finish, a.result.StopString = llm.FinishStop, stop
		return text, io.EOF
	}
	if c.Reason == "" || c.Reason == genai.FinishReasonUnspecified {
		return text, nil
	}
	a.reason = c.Reason
	return text + a.stops.Rest(), a.finish(c.Ratings)
}

// filtered are the reasons for which a filter ends an answer.
var filtered = map[genai.FinishReason]bool{
	genai.FinishReasonSafety: true, genai.FinishReasonRecitation: true, genai.FinishReasonLanguage: true,
	genai.FinishReasonBlocklist: true, genai.FinishReasonProhibitedContent: true, genai.FinishReasonSPII: true,
}

// finish reads the finish reason. The end of the stream is still to come, and figures may be, too.
func (a *answer) finish(ratings []*genai.SafetyRating) error {
	if a.text.Half() {
		return a.server.Fault(llm.FaultProtocol, nil, "the text of the answer is damaged: it ends inside a character")
	}
	switch {
	case a.reason == genai.FinishReasonStop:
		calls, err := a.calls.Whole()
		if err != nil {
			return a.server.Fault(llm.FaultProtocol, err, "%v", err)
		}
		a.result.Finish, a.result.Calls = llm.FinishStop, calls
	case a.reason == genai.FinishReasonMalformedFunctionCall, a.reason == genai.FinishReasonUnexpectedToolCall, a.reason == genai.FinishReasonTooManyToolCalls:
		return a.server.Fault(llm.FaultProtocol, nil, "the model asks for a tool, and the service cannot read how (%s)", a.reason)
	case a.reason == genai.FinishReasonMaxTokens:
		a.result.Finish = llm.FinishLength
	case filtered[a.reason]:
		return a.server.Fault(llm.FaultCut, nil, "a filter of the service ended the answer: %s", because(string(a.reason), ratings))
	case a.reason == genai.FinishReasonOther:
		return a.server.Fault(llm.FaultCut, nil, "the service ended the answer and does not tell why (OTHER)")
	default:
		return a.server.Fault(llm.FaultProtocol, nil, "the answer ended for the unknown reason %q", wire.Clip(string(a.reason)))
	}
	return nil
}

// because is a reason with the categories for which something was blocked.
func because(reason string, ratings []*genai.SafetyRating) string {
	words := []string{reason}
	for _, r := range ratings {
		if r != nil && r.Blocked {
			words = append(words, string(r.Category))
		}
	}
	return wire.Clip(strings.Join(words, ", "))
}

// note keeps what an event tells of the numbers. Thoughts are paid for like an answer.
func (a *answer) note(u *genai.GenerateContentResponseUsageMetadata) {
	if u == nil {
		return
	}
	a.result.PromptTokens, a.result.CachedTokens = int(u.PromptTokenCount), int(u.CachedContentTokenCount)
	a.result.CacheTold = u.CachedContentTokenCount > 0 // 0 is left out
	a.result.AnswerTokens = int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount)
	a.spoken = a.spoken || u.CandidatesTokenCount > 0
}

// End implements wire.Answer: an answer with a finish reason is whole, unless all of it went into thinking.
func (a *answer) End() error {
	switch {
	case a.reason == "":
		return nil
	case a.result.Finish == llm.FinishLength && !a.spoken:
		a.result.Finish = ""
		return a.server.Fault(llm.FaultRefused, nil, "the model used all %d tokens of its answer to think; ask for more tokens, or set `thinking_budget` in the backends file", a.result.AnswerTokens)
	}
	return io.EOF
}

// Result implements wire.Answer.
func (a *answer) Result() llm.Result { return a.result }
