package llamacpp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// maxPropsBytes bounds the answers of /props and /v1/models. A chat template takes tens of KiB.
const maxPropsBytes = 4 << 20

// errTooLarge: an answer is longer than anything this server says.
var errTooLarge = errors.New("the answer is too long")

// ask sends body as JSON (nil: GET) within the time limit l, and reads the JSON answer, of at most most bytes, into answer.
func (c *Client) ask(ctx context.Context, l limit, path string, body, answer any, most int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.after, l)
	defer cancel()
	response, failed := c.send(ctx, path, body)
	if failed != nil {
		return failed
	}
	defer response.Body.Close()
	data, err := readAll(response.Body, most)
	switch {
	case errors.Is(err, errTooLarge):
		return c.fault(llm.FaultProtocol, err, "the answer to %s is longer than %d bytes", path, most)
	case err != nil:
		return c.broken(ctx, err, llm.FaultUnreachable)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return c.fault(llm.FaultProtocol, err, "the answer to %s is not the JSON of a llama.cpp server", path)
	}
	return nil
}

// send makes a request and gives the answer if its status is 200. The caller closes its body.
func (c *Client) send(ctx context.Context, path string, body any) (*http.Response, error) {
	request, err := c.request(ctx, path, body)
	if err != nil {
		return nil, c.fault(llm.FaultRefused, err, "the request cannot be written down: %v", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.broken(ctx, err, llm.FaultUnreachable)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err != nil {
		return nil, c.broken(ctx, err, llm.FaultUnreachable)
	}
	return nil, c.refusal(response, data)
}

func (c *Client) request(ctx context.Context, path string, body any) (*http.Request, error) {
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		var buffer bytes.Buffer
		encoder := json.NewEncoder(&buffer)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(body); err != nil {
			return nil, err
		}
		method, content = http.MethodPost, &buffer
	}
	request, err := http.NewRequestWithContext(ctx, method, c.config.Address+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		// llama.cpp closes a kept connection after some requests, and a request may cross that. None of them changes
		// anything at the server, so it is sent again on a new connection; net/http takes an empty key for that permission
		// and does not send it.
		request.Header["Idempotency-Key"] = []string{}
	}
	if c.config.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	return request, nil
}

// readAll reads to the end, or fails with errTooLarge.
func readAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = errTooLarge
	}
	return data, err
}
