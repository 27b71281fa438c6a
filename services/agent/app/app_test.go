package app_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	got := map[string]string{}
	for _, c := range r.app.Ready(t.Context()) {
		if c.Fatal || c.OK != (c.Message == "") {
			t.Errorf("%+v", c)
		}
		got[c.Name] = c.Message
	}
	if len(got) != 4 || got["promptbuilder"]+got["flowstore"]+got["backend tale"] != "" || !strings.Contains(got["backend dead"], deadAddress) {
		t.Errorf("%q", got)
	}
}

func TestReadyWithoutNeighbours(t *testing.T) {
	t.Parallel()
	set, err := backends.Parse([]byte("default: dead\nbackends:\n  dead: {kind: llamacpp, address: \"" + deadAddress + "\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	stopping, conn := testkit.ServeWith(t, serverOptions(), func(grpc.ServiceRegistrar) {})
	stopping.Drain()
	away, err := grpcclient.Dial("127.0.0.1:1", grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	a, err := app.New(t.Context(), settings(t), app.Deps{Backends: set, PromptBuilder: conn, FlowStore: away})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context()) //nolint:errcheck // nothing runs
	checks := a.Ready(t.Context())
	if checks[0].Message != "says NOT_SERVING" || !strings.Contains(checks[1].Message, "does not answer") {
		t.Errorf("%+v", checks)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.app.Run(ctx) }()
	cancel()
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
}

// TestMetrics: what ended is counted by why, with the model server's own figures; what runs no longer is not.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	q := r.request("")
	r.all(q)
	r.all(&agentv1.GenerateNodeRequest{Flow: r.flows.flow, Backend: "nobody"})
	if err := r.app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	families, err := r.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"tsumugi_agent_generations_running": 0, "tsumugi_agent_generations_total stop": 1, "tsumugi_agent_generations_total none": 1,
		"tsumugi_agent_answer_tokens_total tale": 12, "tsumugi_agent_answer_seconds_total tale": 12 * 0.008,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	if _, err := app.New(t.Context(), settings(t), app.Deps{Backends: r.prompts.set, Metrics: r.metrics}); err == nil {
		t.Error("two agents count in one registry")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := app.DefaultConfig()
	if err := config.Load(&good, config.Source{}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	err := config.Load(&app.Config{}, config.Source{})
	if err == nil {
		t.Fatal("zero limits are taken")
	}
	right := []string{ // without a value, too
		"summaries.background", "summaries.namespaces", "summaries.backend", "summaries.locale", "summaries.again", "summaries.token_limit",
		"summaries.grammar", "sessions.tools", "sessions.policies", "sessions.audit_keys", "sessions.reasks", "sessions.recoveries", "sessions.requester_may_approve",
		"sessions.approve_unshown", "sessions.without", "sessions.keep_records", "sessions.grace",
	}
	for _, k := range config.Keys(&good) {
		if !slices.Contains(right, k.Name) && !strings.Contains(err.Error(), "\n  "+k.Name+": must be ") {
			t.Errorf("nothing about %s in %v", k.Name, err)
		}
		if k.Help == "" {
			t.Errorf("%s has no help", k.Name)
		}
	}
}

func TestSummariesConfig(t *testing.T) {
	t.Parallel()
	wrong := app.DefaultConfig()
	s := &wrong.Summaries
	s.MinWords, s.MinCharacters, s.MinTags, s.Again, s.TokenLimit = s.MaxWords+1, s.MaxCharacters+1, s.MaxTags+1, 11, -1
	s.Background, s.Namespaces = true, []string{"Team A"}
	err := config.Load(&wrong, config.Source{})
	for _, want := range []string{
		"min_words: must be at most max_words (50), is 51", "min_characters: must be at most max_characters (100), is 101",
		"min_tags: must be at most max_tags (7), is 8", "again: must be from 0 to 10, is 11", "token_limit: must be from 0 to 16384, is -1",
		`namespaces: has "Team A", which is no namespace`,
	} {
		if err == nil || !strings.Contains(err.Error(), "summaries."+want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	s.Namespaces = nil
	if err := config.Load(&wrong, config.Source{}); err == nil || !strings.Contains(err.Error(), "summaries.namespaces: must name a namespace") {
		t.Error(err)
	}
}

func Example() {
	set, err := backends.Load("") // a llama.cpp server on port 8080
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := app.DefaultConfig()
	if cfg.Data, err = os.MkdirTemp("", "agent"); err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(cfg.Data)                                              //nolint:errcheck // of the example alone
	agent, err := app.New(context.Background(), cfg, app.Deps{Backends: set}) // with connections of grpcclient
	if err != nil {
		fmt.Println(err)
		return
	}
	agent.Register(grpc.NewServer()) // in a program a grpcserver.Server
	fmt.Println(agent.Close(context.Background()))
	// Output: <nil>
}
