package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// between stands before a real model server: what the test has thought of is answered by the mind, all else by the model.
func (m *mind) between(t *testing.T, model string) (address string, asked func() int) {
	t.Helper()
	to := func(address string) *httputil.ReverseProxy {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return httputil.NewSingleHostReverseProxy(u)
	}
	own, small := to(m.URL), to(model)
	var mu sync.Mutex
	count := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := strings.HasSuffix(r.URL.Path, "/completion") || strings.HasSuffix(r.URL.Path, "/completions")
		switch {
		case answers && len(m.left()) > 0:
			own.ServeHTTP(w, r)
			return
		case answers:
			mu.Lock()
			count++
			mu.Unlock()
		}
		small.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// smallModel: a real llama.cpp server holds a small model to the form of an answer, in a conversation with a call and its result, too. Whatever it
// makes of that, each answer can be read or is asked for again, the turn ends with a reason, and what it asks for can be decided.
func smallModel(t *testing.T, m mode) {
	if m.name != oneProcess.name {
		return // a model is slow, and the wire is the same
	}
	o := newOffice(t, m, "", "")
	address, asked := o.between(t, gemma(t, m))
	o.served(t, address)
	o.settings.answerTokens, o.settings.modelCalls = 96, 3
	o.start(t)
	s := o.approvers(t)[1]
	made, err := s.CreateSession(o.ctx, &agentv1.CreateSessionRequest{Session: &agentv1.Session{Root: "work", Goal: "Write a line", Locale: "en"}})
	if err != nil {
		t.Fatal(err)
	}
	name := made.GetName()
	o.think(say("EXECUTION", "continue", "actions", acts("write", args{"path": "a.md", "content": "fog"})))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "Write a.md."})
	o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_APPROVE, "")
	for range 4 {
		now := o.until(t, s, name, "the turn ends or waits", func(now *agentv1.Session) bool { return rests(now) || waits(now) })
		if rests(now) {
			break
		}
		for _, a := range o.waiting(t, s, name) {
			o.decide(t, s, a, agentv1.Decision_DECISION_DENY, "not now")
		}
	}
	end := o.until(t, s, name, "the turn ends", rests)
	if end.GetStopReason() == "" || end.GetStopReason() == "MODEL_UNREACHABLE" || end.GetStatus() == agentv1.SessionStatus_SESSION_STATUS_ERROR || asked() == 0 || o.file(t, "a.md") != "fog" {
		t.Errorf("asked %d times: %v", asked(), end)
	}
	t.Logf("asked %d times: %s %s %s", asked(), end.GetStep(), end.GetStopReason(), end.GetLastError())
	o.sound(t, s, name)
}

// served has the world ask another model server.
func (w *world) served(t *testing.T, address string) {
	t.Helper()
	text := "default: gemma\nbackends:\n  gemma: {kind: llamacpp, address: '" + address + "'}\n"
	if err := os.WriteFile(w.settings.backends, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
