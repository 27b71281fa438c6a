package llamacpp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

const (
	// maxErrorBytes is how much of a refusal is read.
	maxErrorBytes = 64 << 10
	// maxMessage is how much of a server's own words is passed on, in bytes.
	maxMessage = 300
)

// limit is a time limit of ours, by its key in the backends file. It is the cause of a context that ran into it.
type limit struct {
	key   string
	after time.Duration
}

func (l limit) Error() string {
	return fmt.Sprintf("no answer within %v (timeouts.%s)", l.after, l.key)
}

// wireError is the body of a refusal, and of an error inside a stream.
type wireError struct {
	Code         int    `json:"code"`
	Message      string `json:"message"`
	Type         string `json:"type"`
	PromptTokens int    `json:"n_prompt_tokens"`
	Window       int    `json:"n_ctx"`
}

// fault makes an error of this backend.
func (c *Client) fault(fault llm.Fault, cause error, format string, args ...any) *llm.Error {
	return &llm.Error{
		Fault: fault, Backend: c.config.Name, Address: c.config.Address,
		Message: fmt.Sprintf(format, args...), Err: cause,
	}
}

// broken says why there is no (more) answer. Whose time limit or will it was shows in ctx, the context of the call.
func (c *Client) broken(ctx context.Context, cause error, otherwise llm.Fault) *llm.Error {
	var own limit
	if errors.As(context.Cause(ctx), &own) {
		return c.fault(llm.FaultTimeout, own, "%v", own)
	}
	if ended := llm.Ended(ctx); ended != nil {
		return c.fault(ended.Fault, ended.Err, "%s", ended.Message)
	}
	var request *url.Error
	if errors.As(cause, &request) {
		cause = request.Err // without the address, which the error tells already
	}
	switch {
	case errors.Is(cause, syscall.ECONNREFUSED):
		return c.fault(otherwise, cause, "nobody answers there; start the model server or correct the address")
	case otherwise == llm.FaultCut:
		return c.fault(otherwise, cause, "the answer broke off: %v", cause)
	}
	return c.fault(otherwise, cause, "the model server cannot be reached: %v", cause)
}

// refusal is the error of an answer that is not 200.
func (c *Client) refusal(response *http.Response, body []byte) *llm.Error {
	var told struct {
		Error wireError `json:"error"`
	}
	if json.Unmarshal(body, &told) != nil || told.Error.Message == "" {
		told.Error = wireError{Message: "status " + response.Status}
	}
	told.Error.Code = response.StatusCode
	e := c.told(told.Error, llm.FaultProtocol)
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = min(time.Duration(seconds)*time.Second, time.Hour)
	}
	return e
}

// told translates what the server says of itself; otherwise is the fault of a server that failed without a known reason.
func (c *Client) told(w wireError, otherwise llm.Fault) *llm.Error {
	words := clip(w.Message)
	switch {
	case w.tooLong():
		e := c.fault(llm.FaultTooLong, nil, "the prompt does not fit the window: %s", words)
		e.Tokens, e.Window = w.PromptTokens, w.Window
		return e
	case w.Code == http.StatusServiceUnavailable && strings.Contains(strings.ToLower(w.Message), "loading"):
		return c.fault(llm.FaultLoading, nil, "the server is loading its model; try again in a moment")
	case w.Code == http.StatusServiceUnavailable, w.Code == http.StatusTooManyRequests:
		return c.fault(llm.FaultBusy, nil, "the server has too much to do: %s", words)
	case w.Code == http.StatusBadGateway, w.Code == http.StatusGatewayTimeout:
		return c.fault(llm.FaultUnreachable, nil, "the proxy there does not reach the model server: %s", words)
	case w.Code == http.StatusUnauthorized, w.Code == http.StatusForbidden:
		return c.fault(llm.FaultRefused, nil, "the server wants another API key (api_key_env): %s", words)
	case w.Code == http.StatusNotFound, w.Code == http.StatusMethodNotAllowed, w.Code == http.StatusNotImplemented:
		return c.fault(llm.FaultProtocol, nil, "an endpoint is missing, so this may be no llama.cpp server: %s", words)
	case w.Code >= 300 && w.Code < 400:
		return c.fault(llm.FaultProtocol, nil, "the address leads elsewhere (%s); name the server itself", words)
	case w.Code >= 400 && w.Code < 500:
		return c.fault(llm.FaultRefused, nil, "the server refuses the request: %s", words)
	}
	return c.fault(otherwise, nil, "the server failed: %s", words)
}

// tooLong knows the type of today and the words of builds up to 2025.
func (w wireError) tooLong() bool {
	return w.Type == "exceed_context_size_error" || strings.Contains(w.Message, "exceeds the available context size")
}

// clip shortens a server's words to one line of at most maxMessage bytes.
func clip(words string) string {
	words = strings.Join(strings.Fields(strings.ToValidUTF8(words, "?")), " ")
	if len(words) <= maxMessage {
		return words
	}
	end := maxMessage
	for !utf8.RuneStart(words[end]) {
		end--
	}
	return words[:end] + "…"
}
