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
