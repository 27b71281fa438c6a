package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt/prefixtest"
)

// workspace writes a prompts file with a folder of 30 skills and one of 7 files, half of them in Japanese, and gives the request
// for a prompt of them and of 12 tools.
func workspace(t *testing.T) (prompts string, r *promptbuilderv1.BuildSystemRequest) {
	t.Helper()
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	size := prefixtest.Real()
	size.Skills = 30
	whole := size.Request()
	r = &promptbuilderv1.BuildSystemRequest{
		Backend: "here", Bootstrap: &promptbuilderv1.Bootstrap{Root: "files"}, SkillRoots: []*promptbuilderv1.SkillRoot{{Root: "skills"}},
		Sections: []*promptbuilderv1.CustomSection{
			{Id: "turn", Text: "一回目の発言", Class: promptbuilderv1.SectionClass_SECTION_CLASS_VOLATILE},
			{Id: "until", Text: "The last words.", Class: promptbuilderv1.SectionClass_SECTION_CLASS_VOLATILE},
		},
	}
	for _, tool := range whole.Tools {
		r.Tools = append(r.Tools, &promptbuilderv1.Tool{Name: tool.Name, Summary: tool.Summary})
	}
	for _, skill := range whole.Skills {
		write("skills/"+skill.Name+"/SKILL.md", fmt.Sprintf("---\nname: %s\ndescription: '%s'\n---\n\nThe text of a skill.\n", skill.Name, skill.Description))
	}
	for _, file := range whole.Files {
		write("files/"+file.Name, string(file.Content))
	}
	prompts = "prompts.yaml"
	write(prompts, "roots:\n  files: {path: files, mount: /workspace}\n  skills: {path: skills, mount: /skills}\n")
	return filepath.Join(dir, prompts), r
}

// A prompt of real size from folders is counted once. Built again no text goes to the tokenizer, and where one section below the
// boundary changed, that section alone does; the same holds for a session whose system prompt it is.
func TestWhatIsStableIsCountedOnce(t *testing.T) {
	t.Parallel()
	prompts, r := workspace(t)
	server := llmtest.New(t, llmtest.Options{Window: 100_000, BOS: true})
	cfg := app.DefaultConfig()
	cfg.Prompts = prompts
	a, err := app.New(t.Context(), cfg, app.Deps{Backends: set(t, server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	client := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
	seen := 0
	build := func() (*promptbuilderv1.BuildSystemResponse, []string) {
		t.Helper()
		p, err := client.BuildSystem(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		texts := counted(t, server)
		now := texts[seen:]
		seen = len(texts)
		return p, now
	}
	first, texts := build()
	listed, printed := strings.Count(first.GetText(), "<skill>"), 0
	for _, f := range first.GetFiles() {
		if f.GetState() == promptbuilderv1.FileState_FILE_STATE_OK {
			printed++
		}
	}
	if n := utf8.RuneCountInString(first.GetText()); n < 12_000 || int(first.GetTokens().GetCount()) != n || len(texts) == 0 || listed != 30 || printed != 7 || len(first.GetTools()) != 12 {
		t.Errorf("%d characters, %d tokens, %d counts, %d skills, %d files, %d tools", n, first.GetTokens().GetCount(), len(texts), listed, printed, len(first.GetTools()))
	}
	if again, texts := build(); len(texts) > 0 || again.GetTokens().GetCount() != first.GetTokens().GetCount() || again.GetCountsUsed() != 0 || again.GetCharactersSent() != 0 {
		t.Errorf("built again, %d texts are counted: %.100q; told are %d of %d characters", len(texts), texts, again.GetCountsUsed(), again.GetCharactersSent())
	}
	const turn = "二回目の発言は少し長い"
	r.Sections[0].Text = turn
	// It is counted alone, for the report, and with the blank line before it, for the whole.
	if p, texts := build(); !slices.Equal(texts, []string{turn, "\n\n" + turn}) || int(p.GetTokens().GetCount()) != utf8.RuneCountInString(p.GetText()) || p.GetCountsUsed() != 2 {
		t.Errorf("one section changed, and counted are %.100q; told are %d", texts, p.GetCountsUsed())
	}
	session(t, client, server, r, seen)
}

// session builds the prompts of two turns of an agent: above the boundary stands more than without one, which is counted in
// the first turn, and nothing of it in the second.
func session(t *testing.T, client promptbuilderv1.PromptBuilderServiceClient, server *llmtest.Server, system *promptbuilderv1.BuildSystemRequest, seen int) {
	t.Helper()
	for turn, step := range []string{"PLANNING", "REVIEW"} {
		p, err := client.BuildAgent(t.Context(), &promptbuilderv1.BuildAgentRequest{System: system, Agent: &promptbuilderv1.AgentState{Goal: "目標", Step: step}})
		if err != nil {
			t.Fatal(err)
		}
		texts := counted(t, server)
		stable := p.GetSystem().GetText()[:p.GetSystem().GetBoundaries().GetCache().GetByte()]
		if turn == 0 && !slices.Contains(texts[seen:], stable) || turn == 1 && slices.ContainsFunc(texts[seen:], func(s string) bool { return strings.Contains(stable, s) }) || len(texts) == seen {
			t.Errorf("in turn %d %.60q are counted", turn, texts[seen:])
		}
		seen = len(texts)
	}
}

// counted are the texts that a server was asked to count.
func counted(t *testing.T, server *llmtest.Server) []string {
	t.Helper()
	var all []string
	for _, raw := range server.Requests("/tokenize") {
		var body struct{ Content string }
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		all = append(all, body.Content)
	}
	return all
}
