package backends_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The examples of docs/backends.md work as they stand there, and its defaults are the true ones.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "backends.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/backends.md has %d YAML blocks, not a backends file and a script", len(blocks))
	}
	t.Setenv("LLAMA_API_KEY", "key")
	set, err := backends.Load(write(t, "backends.yaml", blocks[0][1], "replies.yaml", blocks[1][1]))
	if err != nil {
		t.Fatal(err)
	}
	play, err := set.Generator("play")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"霧の向こうで、船の鐘が三度鳴った。 EOF", `もう一度鐘が鳴り backend "play" at replies.yaml: the cable was pulled`} {
		stream, err := play.Generate(t.Context(), llm.Request{Prompt: "夜の港", Sampling: llm.Sampling{MaxTokens: 50}})
		got := ""
		for err == nil {
			var piece string
			piece, err = stream.Recv()
			got += piece
		}
		if got += " " + err.Error(); got != want {
			t.Errorf("the answer is %q, not %q", got, want)
		}
	}
	d := llm.DefaultTimeouts()
	for key, limit := range map[string]string{
		"connect": d.Connect.String(), "window": d.Window.String(), "count": d.Count.String(),
		"first_byte": strings.TrimSuffix(d.FirstByte.String(), "0s"), "idle": strings.TrimSuffix(d.Idle.String(), "0s"),
	} {
		if row := regexp.MustCompile("(?m)^\\| `timeouts." + key + "` \\|.*\\| `" + limit + "` \\|$"); !row.Match(text) {
			t.Errorf("docs/backends.md does not say that timeouts.%s is %s", key, limit)
		}
	}
}
