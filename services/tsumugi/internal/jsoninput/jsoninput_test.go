package jsoninput

import (
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// What is not the kind of JSON that is asked for is told with what it must be.
func TestObjectAndList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":         "it is empty; it must be a JSON list",
		" \n":      "it is empty; it must be a JSON list",
		"null":     `it must be a JSON list, and begins with "null"`,
		`{"a": 1}`: `it must be a JSON list, and begins with "{\"a\": 1}"`,
		"[1,\n}":   "it is no JSON from line 2 on (invalid character '}' looking for beginning of value); it must be a JSON list",
		"[1] 2":    "it is no JSON from line 1 on (invalid character '2' after top-level value); it must be a JSON list",
	} {
		if _, err := List(text, "a JSON list"); err == nil || err.Error() != want {
			t.Errorf("%q\ngot  %v\nwant %s", text, err, want)
		}
	}
	if got, err := Object(`{"a": 1}`, "an object"); err != nil || string(got["a"]) != "1" {
		t.Errorf("%s, %v", got, err)
	}
}

// A member that stands twice in one object is refused by its path, at any depth and however it is written; which one counted would be the reader's choice.
func TestDoubledMembers(t *testing.T) {
	t.Parallel()
	for text, at := range map[string]string{
		`{"goal": "a", "goal": "b"}`:                                   "goal",
		`{"goal": "a", "go\u0061l": "a"}`:                              "goal",
		`{"addedRules": [{"id": "a"}, {"id": "b", "id": "c"}]}`:        "addedRules[1].id",
		`{"addedRules": [], "budgets": {"turn": {"x": 1, "x": [{}]}}}`: "budgets.turn.x",
	} {
		want := at + ": it is there twice in one object, and which one counts would depend on the reader"
		if _, err := Object(text, "an object"); err == nil || err.Error() != want {
			t.Errorf("Object %s\ngot  %v\nwant %s", text, err, want)
		}
		if _, err := List("["+text+"]", "a list"); err == nil || err.Error() != "[0]."+want {
			t.Errorf("List %s\ngot  %v\nwant [0].%s", text, err, want)
		}
		if err := Merge([]byte(text), &agentv1.Session{}); err == nil || err.Error() != want {
			t.Errorf("Merge %s\ngot  %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{`{"a": {"a": {"a": [{"a": 1}, {"a": 2}]}}, "A": 1}`, `{"a": 1e999}`} {
		if _, err := Object(text, "an object"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A member that is wrong is told by its path, with what it must be.
func TestMergeNamesMembers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"addedRules": [{"effect": "ALLOW"}]}`: `addedRules[0].effect: must be one of RULE_EFFECT_ASK, RULE_EFFECT_DENY, and is "ALLOW"`,
		`{"turns": "x"}`:                        `turns: must be a whole number of at most 2147483647, and is "x"`,
		`{"goal": true}`:                        "goal: must be a text in quotes, and is true",
	} {
		if err := Merge([]byte(text), &agentv1.Session{}); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
