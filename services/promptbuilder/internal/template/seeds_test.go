package template

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// example gives the text of a seed between its first fence behind a heading and a line.
func example(t *testing.T, seed, heading, last string) string {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "seeds/"+seed))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), heading+"\n")
	_, rest, fenced := strings.Cut(rest, "```\n")
	at := strings.Index(rest, last)
	if !found || !fenced || at < 0 {
		t.Fatalf("%s has no example behind %q up to %q", seed, heading, last)
	}
	return rest[:at+len(last)]
}

// lines are the lines of a text that say something.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// The Japanese texts say what the seeds say: their examples line by line, but for the name of the product, a word that must not be taken for
// consent (field/agent.md C22), and the lines that came to the form of the answer.
func TestTheTextsOfTheSeeds(t *testing.T) {
	t.Parallel()
	const agents, flows = "001_d51b36234eb626f3.txt", "004_b819051edfd17c5e.txt"
	texts := New(Japanese, nil)
	all := func(ids ...string) (text string) {
		for _, id := range ids {
			text += texts.Text(id) + "\n"
		}
		return text
	}
	for id, last := range map[string]string{"PLANNING": "成功基準は測定可能", "EXECUTION": "ユーザーへの進捗報告", "REVIEW": "[承認/要修正/拒否]"} {
		want := strings.Replace(example(t, agents, "#### "+id+"用", last), "承認可否", "レビュー判定", 1)
		if diff := cmp.Diff(want, texts.Text("specialized."+id)); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	form := strings.Replace(texts.Text("main.output"), "  \"prompt_pattern\": \"次に使用すべきプロンプトのパターン（base_main / base_main_specialized）\",\n", "", 1)
	if seed := example(t, agents, "### 3.2 Main Prompt（司令塔）", "\n}"); !strings.HasSuffix(seed, form) {
		t.Errorf("the form of the answer: %s", cmp.Diff(seed, form))
	}
	for name, c := range map[string]struct {
		seed, ours string
	}{
		"Base": {
			strings.Replace(example(t, agents, "### 3.1 Base Prompt（人格・憲法）", "{recent_conversation_summary}"), "Duckflow", "{product}", 1),
			strings.Replace(all("identity", "base", "long_term_memory", "session", "session_counters", "summaries"), "{personality}", texts.Text("base.personality"), 1),
		},
		"Main":      {example(t, agents, "### 3.2 Main Prompt（司令塔）", "{recent_conversation_flow}"), all("main.state", "main.five", "main.recent")},
		"summaries": {example(t, flows, "### 7.2 LLMプロンプト例（要約生成）", "カンマ区切り]"), all("summarise")},
	} {
		ours := lines(strings.Replace(c.ours, "（最新{summary_count}件）", "（最新5件）", 1))
		for _, want := range lines(c.seed) {
			for len(ours) > 0 && ours[0] != want {
				ours = ours[1:] // A line that the seed has not.
			}
			if len(ours) == 0 {
				t.Errorf("%s: %q is not there, or in another place: %s", name, want, c.ours)
				break
			}
		}
	}
	nodes := example(t, flows, "### 7.3 コンテキスト構築（LLM利用時）", "と指示できます。")
	if !strings.HasSuffix(nodes, "\n"+texts.Text("context.hint")) {
		t.Errorf("the hint is not the seed's: %q", texts.Text("context.hint"))
	}
	for _, id := range []string{"context.head", "context.current", "context.flow", "context.refs"} {
		_, rest, found := strings.Cut(nodes, texts.Text(id)+"\n")
		if nodes = rest; !found {
			t.Errorf("%s is not in the seed, or in another place: %q", id, texts.Text(id))
		}
	}
}

// The texts in both languages are those of the rules, byte for byte.
func TestTheTextsOfTheRules(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(testkit.Shared(t, "field/systemprompt-rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{Japanese: {}, English: {}}
	for line := range strings.Lines(string(rules)) {
		if !strings.HasPrefix(line, `{"locale":`) {
			continue
		}
		var texts map[string]string
		if err := json.Unmarshal([]byte(line), &texts); err != nil {
			t.Fatal(err)
		}
		locale := texts["locale"]
		delete(texts, "locale")
		maps.Copy(want[locale], texts)
	}
	if diff := cmp.Diff(want, defaults); diff != "" {
		t.Error(diff)
	}
}
