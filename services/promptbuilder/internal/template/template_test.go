package template

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBothLanguagesHaveTheSameTexts(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(defaults[Japanese])), slices.Sorted(maps.Keys(defaults[English]))); diff != "" || len(IDs()) != 36 {
		t.Errorf("%d texts, %s", len(IDs()), diff)
	}
	for _, id := range IDs() {
		a, b := Placeholders(Japanese, id), Placeholders(English, id)
		slices.Sort(a)
		slices.Sort(b)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s has other placeholders in the other language: %s", id, diff)
		}
		if got := New(English, defaults[English]).Text(id); got != defaults[English][id] {
			t.Errorf("a text that is the default one is cleaned to %q", got)
		}
		if wrong := CheckOwn(English, map[string]string{id: defaults[English][id]}); wrong != nil {
			t.Errorf("the default text is refused: %v", wrong)
		}
	}
}

func TestLocale(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"": Japanese, "ja": Japanese, "ja-JP-u-hc-h12": Japanese, "JA_jp": Japanese, "en-US": English, "jam": English, "de": English} {
		if got, err := Locale(tag); got != want || err != nil {
			t.Errorf("%q: %q, %v", tag, got, err)
		}
	}
	if _, err := Locale("not a tag"); err == nil || !strings.Contains(err.Error(), "BCP 47") {
		t.Error(err)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	own := New(Japanese, map[string]string{"exchange": "{user}>{assistant} {x} {User}"})
	if got := own.Fill("exchange", map[string]string{"user": "{assistant}", "assistant": "a"}); got != "{assistant}>a {x} {User}" {
		t.Errorf("what was filled in was filled: %q", got)
	}
	if got := own.Fill("identity", map[string]string{"product": "Momo"}); got != "あなたはMomoのAIアシスタントです。" {
		t.Error(got)
	}
	if got := own.Lines("long_term_memory", map[string]string{"learned_patterns": "(1) a"}); got != "長期的記憶:\n- 学習したパターン: (1) a" {
		t.Errorf("%q", got)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{Japanese, English} {
		got, wrong := Render(locale, "summarise", map[string]string{"prompt": "P{answer}", "answer": "A"})
		if wrong != nil || !strings.Contains(got, "]\nP{answer}\n\n[") || !strings.Contains(got, "]\nA\n\n") {
			t.Errorf("%q %v", got, wrong)
		}
	}
	_, wrong := Render(English, "summarise", map[string]string{"prompt": "P", "anwser": "A"})
	if diff := cmp.Diff([]Wrong{
		{"answer", "is missing; this text may have {prompt}, {answer}"}, {"anwser", "is no placeholder of it; this text may have {prompt}, {answer}"},
	}, wrong); diff != "" {
		t.Error(diff)
	}
}

func TestCheckOwn(t *testing.T) {
	t.Parallel()
	own := map[string]string{
		"main.five": "{goal} {aim} {goal-2}", "main.pending": "none", "main.output": " \n", "none": "{n}", "nosuch": "", "cut": strings.Repeat("あ", maxText),
		"summarise": "{プロンプト全文}{answer}",
	}
	var got []string
	for _, w := range CheckOwn(Japanese, own) {
		got = append(got, w.ID+" "+w.Problem[:min(len(w.Problem), 30)])
	}
	if diff := cmp.Diff([]string{
		"cut must have at most 65536 bytes,", "main.five has {aim}; this text may have ", "main.five must keep {constraints}, which",
		"main.output must not be empty: it is the f", "main.pending must keep {pending_approvals},", "none has {n}; this text has no plac", "nosuch there is no such text; there a",
	}, got); diff != "" {
		t.Error(diff)
	}
}
