package envelope_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
)

// planning is a good answer, and what it says.
const planning = `{"rationale":"plan first","goal_consistency":"yes: fits","constraint_check":"yes","next_step":"continue","step":"PLANNING","prompt_pattern":"base_main"}`

func plannedWith(change func(*envelope.Envelope)) envelope.Envelope {
	e := envelope.Envelope{
		Rationale: "plan first", GoalConsistency: envelope.Check{OK: true, Reason: "fits"}, ConstraintCheck: envelope.Check{OK: true},
		NextStep: envelope.Continue, Step: envelope.Planning, PromptPattern: envelope.BaseMain,
	}
	change(&e)
	return e
}

// An answer without its safety fields is asked for again and never filled in, and the right fence is read.
func TestAgent16SafetyFieldsAreNeverFilledIn(t *testing.T) {
	t.Parallel()
	prod := strings.Replace(planning, `"constraint_check":"yes"`, `"constraint_check":"no: touches prod"`, 1)
	for _, text := range []string{
		`{"rationale":"x"}`, "```json\n" + planning + "\n```\n```json\n" + planning + "\n```", strings.Replace(planning, "PLANNING", "EXECUTE", 1),
	} {
		if r, err := envelope.Parse(envelope.Answer{Text: text}); err == nil {
			t.Errorf("taken: %s: %+v", text, r)
		}
	}
	r, err := envelope.Parse(envelope.Answer{Text: "```ts\n{\"step\":\"EXECUTION\"}\n```\nthen\n```json\n" + prod + "\n```"})
	if err != nil {
		t.Fatal(err)
	}
	want := plannedWith(func(e *envelope.Envelope) { e.ConstraintCheck = envelope.Check{Reason: "touches prod"} })
	if diff := cmp.Diff(want, r.Envelope); diff != "" || r.Envelope.Consents() {
		t.Errorf("consents %v, %s", r.Envelope.Consents(), diff)
	}
}

// Thoughts, glued and open fences, backticks in strings, commas, prose and line ends do not hide a good answer, and each repair is
// told.
func TestAgent32RepairsAreTold(t *testing.T) {
	t.Parallel()
	ticks := strings.Replace(planning, "plan first", "use ```x```", 1)
	for _, tt := range []struct {
		text    string
		repairs []envelope.Repair
	}{
		{`<think>maybe {"step":"EXECUTION"}</think>` + planning, []envelope.Repair{envelope.ThinkStripped}},
		{"reasoning…</think>" + planning, []envelope.Repair{envelope.ThinkStripped}},
		{"```json" + planning, []envelope.Repair{envelope.FenceChosen}},
		{ticks, nil},
		{strings.TrimSuffix(planning, "}") + ",}", []envelope.Repair{envelope.CommaRemoved}},
		{"Here is it: " + planning + " Hope it helps.", []envelope.Repair{envelope.ProseIgnored}},
		{"\ufeff" + strings.ReplaceAll(planning, ",", ",\r\n") + "\r\n", []envelope.Repair{envelope.MarkRemoved}},
	} {
		r, err := envelope.Parse(envelope.Answer{Text: tt.text})
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		want := plannedWith(func(e *envelope.Envelope) {
			if tt.text == ticks {
				e.Rationale = "use ```x```"
			}
		})
		if diff := cmp.Diff(want, r.Envelope); diff != "" || !slices.Equal(r.Repairs, tt.repairs) {
			t.Errorf("%s: repairs %v, want %v; %s", tt.text, r.Repairs, tt.repairs, diff)
		}
	}
}

// DONE is no step that a model may ask for, however often it does.
func TestAgent5DoneIsNoStep(t *testing.T) {
	t.Parallel()
	for range 2 {
		err := parseError(strings.Replace(planning, "PLANNING", "DONE", 1))
		if got := codes(t, err); !slices.Equal(got, []string{"WRONG_VALUE step"}) {
			t.Errorf("refused for %q", got)
		}
	}
}
