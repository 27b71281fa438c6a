package ledger

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// anyText draws texts with what JSON escapes, and what is no UTF-8.
var anyText = rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"P", "<a>&\u2028", "\"\\\n\x01", "\xff\xc3", "紡ぎ"}), rapid.String())

// TestDetails: the details of a row are the canonical JSON of its note, with each field of it.
func TestDetails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(d *rapid.T) {
		text := func(name string) string { return anyText.Draw(d, name) }
		details := Details{Answer: text("answer"), Note: session.Note{
			Of: session.Subject(text("of")), ID: text("id"), From: text("from"), To: text("to"), Trigger: session.Trigger(text("trigger")),
			Reason: session.Reason(text("reason")), Text: text("text"),
			Allowed: rapid.SliceOfN(rapid.Map(anyText, func(s string) session.Step { return session.Step(s) }), 0, 2).Draw(d, "allowed"),
		}, Read: rapid.SliceOfN(anyText, 0, 2).Draw(d, "read")}
		raw, err := json.Marshal(details)
		if err != nil {
			d.Fatal(err)
		}
		want, err := canon.JSON(raw)
		if err != nil {
			d.Fatal(err)
		}
		if got := details.canonical(); got != string(want) {
			d.Fatalf("%s, and not %s", got, want)
		}
	})
}

// TestSeal: details with the hash of what changed are in canonical form, whatever they were.
func TestSeal(t *testing.T) {
	t.Parallel()
	values := rapid.OneOf(rapid.Map(anyText, func(s string) any { return s }), rapid.Just[any](true), rapid.Just[any](map[string]any{"b": 1, "a": []int{2}}))
	objects := rapid.MapOfN(rapid.OneOf(rapid.SampledFrom([]string{"id", "a", "z", deltaKey, "delt", "delta2", `"`, "é"}), rapid.StringN(1, 3, -1)), values, 0, 5)
	rapid.Check(t, func(d *rapid.T) {
		details := ""
		if rapid.Bool().Draw(d, "has details") {
			raw, err := json.Marshal(objects.Draw(d, "details"))
			if err != nil {
				d.Fatal(err)
			}
			details = string(raw)
		}
		r := record{Delta: []byte("x")}
		if len(details)%2 == 0 {
			r.Kept = []byte("y")
		}
		want, err := r.resealed(details)
		if err != nil {
			d.Fatal(err)
		}
		if got, err := r.seal(details); err != nil || got != want {
			d.Fatalf("%s is sealed as %s, and not as %s: %v", details, got, want, err)
		}
	})
	for _, bad := range []string{"[]", `{"a":`, `{"a":1e999}`} {
		if got, err := (record{}).seal(bad); err == nil {
			t.Errorf("%q gives %s", bad, got)
		}
	}
}
