package rest

import (
	"net/http"

	"github.com/tsumugi-dev/tsumugi/gen/openapi"
)

const front = `Tsumugi builds the prompt, runs the model and keeps the conversation.

This is its REST interface. Every path, with its fields and its errors:

  GET /openapi.json
`

// pages are the paths that lead to no call.
func (s *surface) pages() error {
	for path, page := range map[string]struct {
		contentType string
		content     []byte
	}{
		"/":             {"text/plain; charset=utf-8", []byte(front)},
		"/openapi.json": {"application/json", openapi.JSON},
	} {
		answer := func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
			w.Header().Set("Content-Type", page.contentType)
			_, _ = w.Write(page.content)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if err := s.mux.HandlePath(method, path, answer); err != nil {
				return err
			}
		}
	}
	return nil
}
