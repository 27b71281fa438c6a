package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

// TestPresets: a preset of a file holds for what a request leaves open, and the answer tells.
func TestPresets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "presets.yaml")
	if err := os.WriteFile(path, []byte("presets: {mine: {wrapping: {name: raw}, max_tokens: 99, sampling: {temperature: 0.5, top_k: 7}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := app.DefaultConfig()
	cfg.Presets = path
	a, err := app.New(t.Context(), cfg, app.Deps{Backends: set(t, llmtest.New(t, llmtest.Options{}).URL)})
	if err != nil {
		t.Fatal(err)
	}
	client := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
	listed, err := client.ListPresets(t.Context(), &promptbuilderv1.ListPresetsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range listed.GetPresets() {
		names = append(names, p.GetName())
	}
	if got := strings.Join(names, " "); got != "alpaca chatml gemma llama3 mine mistral raw" {
		t.Errorf("presets %s", got)
	}
	got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{
		Body: "本文", Preset: "mine", Sampling: &flowstorev1.Sampling{Temperature: proto.Float64(0)},
	})
	if err != nil {
		t.Fatal(err)
	}
	held := got.GetHeld()
	if held.GetName() != "mine" || held.GetWrapping().GetName() != "raw" || got.GetMaxTokens() != 99 || held.GetSampling().GetMaxTokens() != 99 ||
		held.GetSampling().GetTopK() != 7 || held.GetSampling().Temperature == nil || held.GetSampling().GetTemperature() != 0 ||
		held.GetFit() != promptbuilderv1.Fit_FIT_LINES || strings.Contains(got.GetPrompt(), "[INST]") {
		t.Errorf("%q with %v", got.GetPrompt(), held)
	}
	cfg.Presets = filepath.Join(t.TempDir(), "none.yaml")
	if _, err := app.New(t.Context(), cfg, app.Deps{Backends: set(t, "http://127.0.0.1:1")}); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a file that is not there gives %v", err)
	}
}

// TestAWrongPresetsFileIsToldWithTheSettings, each problem in it by itself.
func TestAWrongPresetsFileIsToldWithTheSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "presets.yaml")
	if err := os.WriteFile(path, []byte("presets:\n  mine: {fit: x}\n  other: {note_depth: -1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := app.DefaultConfig()
	cfg.Presets, cfg.Rating = path, "r15"
	err := config.Load(&cfg, config.Source{})
	wrong := (*config.Error)(nil)
	if !errors.As(err, &wrong) || len(wrong.Lines) != 3 {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"presets.mine.fit", "presets.other.note_depth", "default_rating"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %s", err, want)
		}
	}
}
