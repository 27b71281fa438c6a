package session

import (
	"slices"
	"strings"
	"testing"
)

// TestCheckRefs: what can mean nothing is refused with what would be right, each at its place; what may come to mean something is taken.
func TestCheckRefs(t *testing.T) {
	t.Parallel()
	const id = "6f9a2c1e-0b1d-4d55-9a0e-3f1f6f0e8a77"
	right := []string{
		"file:港/下書き.md", "file:.hidden", "file:/skills/a/SKILL.md", "file:/skills", "plan:" + id, "conversation:1", "conversation:3", "conversation:sessions/" + id + "/99",
		"conversation:nodes/" + id, "conversation:flows/" + id,
	}
	if wrong := CheckRefs(right, 3); wrong != nil {
		t.Errorf("%+v", wrong)
	}
	for ref, want := range map[string]string{
		"web:x": "must be file:PATH", "港": "must be file:PATH", "file:": "inside the work folder", "file:../x": "inside the work folder",
		"file:/": "inside a read root", "file:/skills/../x": "inside a read root", "file:/skills/./x": "inside a read root", "file:/skills//x": "inside a read root",
		"file:/skills/": "inside a read root", "file://skills": "inside a read root", "file:/.": "inside a read root", "file:a/./b": "inside the work folder", "file:a/": "inside the work folder", "file:.": "inside the work folder",
		"plan:": "a UUID", "plan:x": "a UUID", "plan:{" + id + "}": "a UUID", "conversation:0": "number of a turn", "conversation:-1": "number of a turn",
		"conversation:01": "number of a turn", "conversation:４": "number of a turn", "conversation:4": "names turn 4, and the session has 3", "conversation:x": "number of a turn",
		"conversation:" + id: "nodes/UUID", "conversation:nodes/x": "nodes/UUID", "conversation:sessions/" + id: "sessions/UUID/NUMBER",
		"conversation:sessions/" + id + "/0": "sessions/UUID/NUMBER", "conversation:sessions/" + id + "/1/2": "sessions/UUID/NUMBER",
		"conversation:99999999999999999999": "number of a turn", "file:" + strings.Repeat("港", 300): "at most 300 characters", "file:a\nb": "must be one line",
		" ": "must not be blank",
	} {
		wrong := CheckRefs([]string{"file:a.md", ref}, 3)
		if !slices.ContainsFunc(wrong, func(v Violation) bool { return v.Field == "context_refs[1]" && strings.Contains(v.Description, want) }) {
			t.Errorf("%q: %+v", ref, wrong)
		}
	}
	wrong := CheckRefs([]string{"file:a.md", "web:x", "file:a.md", "plan:x"}, 0)
	if len(wrong) != 3 || wrong[1].Field != "context_refs[2]" || wrong[1].Description != "stands twice: first at [0]" {
		t.Errorf("%+v", wrong)
	}
	wrong = CheckRefs([]string{"web:x", "conversation:9", "web:y", "web:x", " "}, 0, "web:x", "conversation:9", " ")
	if len(wrong) != 2 || wrong[0].Field != "context_refs[2]" || wrong[1].Description != "stands twice: first at [0]" {
		t.Errorf("what the session has is judged: %+v", wrong)
	}
}
