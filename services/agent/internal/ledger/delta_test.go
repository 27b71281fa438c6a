package ledger

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDelta: what changed, put over what was, is what is, whatever the values are.
func TestDelta(t *testing.T) {
	t.Parallel()
	values := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int32(), func(n int32) any { return n }),
		rapid.Map(rapid.SliceOfN(rapid.String(), 0, 3), func(s []string) any { return s }),
		rapid.Map(rapid.MapOfN(rapid.String(), rapid.String(), 0, 3), func(m map[string]string) any { return m }),
	)
	objects := rapid.MapOfN(rapid.SampledFrom([]string{"id", "items", "talk", "state", "turns", "calls"}), values, 0, 6)
	rapid.Check(t, func(d *rapid.T) {
		before, errA := json.Marshal(objects.Draw(d, "before"))
		after, errB := json.Marshal(objects.Draw(d, "after"))
		change, errC := delta(before, after)
		var a, b, c map[string]json.RawMessage
		for _, err := range []error{errA, errB, errC, json.Unmarshal(before, &a), json.Unmarshal(after, &b), json.Unmarshal(change, &c)} {
			if err != nil {
				d.Fatalf("%v: %s, %s, %s", err, before, after, change)
			}
		}
		for k, v := range c {
			if string(a[k]) == string(v) {
				d.Errorf("%s did not change and is in %s", k, change)
			}
		}
		maps.Copy(a, c)
		maps.DeleteFunc(a, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		if diff := cmp.Diff(b, a); diff != "" {
			d.Error(diff)
		}
	})
	for _, bad := range []string{"", "{", "[]", `{"a"`, `{"a":`, `{"a":1`, `{"a":{}`, `{ "a":1}`, `{"a":1,`, `{"a":"`, `{"a":1}x`, `{"a":1} `, "{\"a\":1}\n", "{\"a\":1}\x00", `{"a":1}{"a":1}`, `{"a":1}}`} {
		if got, err := delta([]byte(bad), []byte("{}")); err == nil {
			t.Errorf("%q gives %s", bad, got)
		}
	}
}
