package app_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// set reads a backends file with one llama.cpp server, and one at an address where nobody answers.
func set(t *testing.T, address string) *backends.Set {
	t.Helper()
	s, err := backends.Parse([]byte("default: here\nbackends:\n" +
		"  here: {kind: llamacpp, address: '" + address + "'}\n" +
		"  gone: {kind: llamacpp, address: 'http://127.0.0.1:1'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve runs promptbuilder over a model server.
func serve(t *testing.T, address string) promptbuilderv1.PromptBuilderServiceClient {
	t.Helper()
	a, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Backends: set(t, address)})
	if err != nil {
		t.Fatal(err)
	}
	return promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
}

func TestBuildStory(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{BOS: true})
	client := serve(t, server.URL)
	got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{
		Body: "一。\n二。\n三。\n四。\n五は", Seed: 2,
		Story: &commonv1.Story{Title: proto.String("{題|題}"), Note: proto.String("注")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got.GetPrompt(), "# タイトル:\n題\n```\n【本文】\n```\n一。\n```\n【この先の展開についての指示・メモ】\n```\n注\n```\n二。\n三。\n四。[/INST]五は") {
		t.Errorf("prompt %q", got.GetPrompt())
	}
	if got.GetTokens() != int32(1+len([]rune(got.GetPrompt()))) || got.GetLimit() != 4096-250 || got.GetCountsUsed() != 2 ||
		got.GetRating() != "general" || got.GetBackend().GetBackend() != "here" || len(got.GetPicks()) != 1 || len(got.GetDigest()) != 64 {
		t.Errorf("answer %v", got)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{BOS: true})
	got, err := serve(t, server.URL).CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{Texts: []string{"夜の港", "", "a\x00b"}})
	if err != nil || !slices.Equal(got.GetTokens(), []int32{4, 1, 4}) || got.GetBackend().GetWindow() != 4096 {
		t.Errorf("%v, error %v", got, err)
	}
}

// TestRefusals: each is refused with its reason, and no text is counted or continued for those that need no count.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{Window: 1000})
	client := serve(t, server.URL)
	for _, tt := range []struct {
		name    string
		request *promptbuilderv1.BuildStoryRequest
		code    codes.Code
		reason  string
		field   string
		names   []string
		counts  bool
	}{
		{"max_tokens over the window", &promptbuilderv1.BuildStoryRequest{Body: "本文", MaxTokens: 1001}, codes.InvalidArgument, "INVALID_BUDGET", "max_tokens", []string{"1000", "1001"}, false},
		{"max_tokens at the window", &promptbuilderv1.BuildStoryRequest{Body: "本文", MaxTokens: 1000}, codes.InvalidArgument, "INVALID_BUDGET", "max_tokens", []string{"1000"}, false},
		{"large story fields", &promptbuilderv1.BuildStoryRequest{Story: &commonv1.Story{Plot: proto.String(strings.Repeat("筋", 900))}}, codes.FailedPrecondition, "CONTEXT_OVERFLOW", "", []string{"750", "reference 909"}, true},
		{"unknown backend", &promptbuilderv1.BuildStoryRequest{Backend: "nope"}, codes.NotFound, "UNKNOWN_BACKEND", "", []string{"nope", "gone", "here"}, false},
		{"nobody there", &promptbuilderv1.BuildStoryRequest{Backend: "gone"}, codes.Unavailable, "BACKEND_UNAVAILABLE", "", []string{"http://127.0.0.1:1"}, false},
		{"body too large", &promptbuilderv1.BuildStoryRequest{Body: strings.Repeat("a", 4<<20+1)}, codes.InvalidArgument, "INVALID_FIELD", "body", []string{"4194304"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(asked(t, server))
			_, err := client.BuildStory(t.Context(), tt.request)
			e, ok := apierr.FromStatus(err)
			if !ok || e.Code != tt.code || e.Reason != tt.reason || tt.field != "" && (len(e.Violations) != 1 || e.Violations[0].Field != tt.field) {
				t.Fatalf("got %+v of %v, want %v %s about %q", e, err, tt.code, tt.reason, tt.field)
			}
			for _, word := range tt.names {
				if !strings.Contains(e.Message, word) {
					t.Errorf("%q does not name %s", e.Message, word)
				}
			}
			if counted := len(asked(t, server)) > before; counted != tt.counts {
				t.Errorf("a text was counted: %t", counted)
			}
		})
	}
	if n := server.Calls("/completion"); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestAnswerLengths: each mode has a length of its own, which the answer repeats.
func TestAnswerLengths(t *testing.T) {
	t.Parallel()
	client := serve(t, llmtest.New(t, llmtest.Options{}).URL)
	for mode, want := range map[promptbuilderv1.StoryMode]int32{
		promptbuilderv1.StoryMode_STORY_MODE_UNSPECIFIED: 250, promptbuilderv1.StoryMode_STORY_MODE_GENERATE: 250,
		promptbuilderv1.StoryMode_STORY_MODE_IDEA: 500, promptbuilderv1.StoryMode_STORY_MODE_AUTOCOMPLETE: 64,
	} {
		got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Mode: mode})
		if err != nil || got.GetMaxTokens() != want || got.GetLimit() != 4096-want {
			t.Errorf("%s: %d tokens are kept free of 4096 and the limit is %d, want %d; error %v", mode, got.GetMaxTokens(), got.GetLimit(), want, err)
		}
	}
}

// asked are the prompts that a server was asked to count.
func asked(t *testing.T, server *llmtest.Server) []string {
	t.Helper()
	return slices.DeleteFunc(counted(t, server), func(text string) bool { return !strings.HasPrefix(text, "[INST]") })
}

func TestTroubleOfTheServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults llmtest.Faults
		reason string
	}{
		"loading":         {llmtest.Faults{Loading: 100}, "BACKEND_LOADING"},
		"busy":            {llmtest.Faults{Busy: 100}, "BACKEND_BUSY"},
		"counts nothing":  {llmtest.Faults{Count: llmtest.CountZero}, "BACKEND_FAULT"},
		"counts less":     {llmtest.Faults{Count: llmtest.CountNegative}, "BACKEND_FAULT"},
		"counts nonsense": {llmtest.Faults{Count: llmtest.CountGarbage}, "BACKEND_FAULT"},
		"cannot count":    {llmtest.Faults{Count: llmtest.CountFailed}, "BACKEND_FAULT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t, llmtest.Options{})
			client := serve(t, server.URL)
			if _, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Body: "本文"}); err != nil {
				t.Fatal(err)
			}
			server.Break(tt.faults)
			_, buildErr := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Body: "本文"})
			_, countErr := client.CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{Texts: []string{"本文"}})
			for _, err := range []error{buildErr, countErr} {
				if e, ok := apierr.FromStatus(err); !ok || e.Reason != tt.reason || e.Metadata["address"] != server.URL {
					t.Errorf("got %+v of %v, want %s at %s", e, err, tt.reason, server.URL)
				}
				if tt.faults.Count == "" {
					continue // nobody was asked to count yet
				}
				e, _ := apierr.FromStatus(err)
				if e.Code != codes.Unavailable || e.Metadata["count"] != "1" || e.Metadata["characters"] == "" || e.Metadata["took"] == "" || e.RetryAfter == 0 ||
					!strings.Contains(e.Message, "(count 1 of this request, of "+e.Metadata["characters"]+" characters, tried for ") {
					t.Errorf("a count that failed half-way gives %v %q with %v", e.Code, e.Message, e.Metadata)
				}
			}
		})
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	a, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Backends: set(t, server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	checks := a.Ready(t.Context())
	if len(checks) != 2 || checks[0].Name != "backend gone" || checks[0].OK || checks[0].Fatal || !strings.Contains(checks[0].Message, "http://127.0.0.1:1") {
		t.Errorf("checks %+v", checks)
	}
	if !checks[1].OK || checks[1].Name != "backend here" {
		t.Errorf("checks %+v", checks)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c := app.DefaultConfig()
	c.Backend = "nope"
	if _, err := app.New(t.Context(), c, app.Deps{Backends: set(t, "http://127.0.0.1:1")}); err == nil || !strings.Contains(err.Error(), "gone, here") {
		t.Errorf("a default that is not in the file gives %v", err)
	}
	c = app.Config{Rating: "x"}
	err := config.Load(&c, config.Source{})
	for _, key := range []string{"default_max_tokens:", "default_max_tokens_idea:", "default_max_tokens_autocomplete:", "default_rating:"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("error %v, want one about %s", err, key)
		}
	}
}
