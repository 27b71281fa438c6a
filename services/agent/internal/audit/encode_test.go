package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyRow draws a row of short texts, so that two rows often differ only in where a text stands.
func anyRow(t *rapid.T) Row {
	text := func(label string) string { return rapid.StringMatching(`[ab]{0,2}`).Draw(t, label) }
	return Row{
		Seq: rapid.Uint64Range(0, 2).Draw(t, "seq"), KeyID: text("key"), Prev: text("prev"),
		Entry: Entry{
			Time:      time.Unix(rapid.Int64Range(0, 1).Draw(t, "seconds"), rapid.Int64Range(0, 1).Draw(t, "nanoseconds")).UTC(),
			Namespace: text("namespace"), Session: text("session"), Task: text("task"), Turn: text("turn"),
			Actor: Actor{text("name"), ActorKind(text("actor"))}, Kind: Kind(text("kind")), Verdict: text("verdict"), Reason: text("reason"),
			CallHash: text("call"), Digest: text("digest"), ArgsDigest: text("args"), Before: text("before"), After: text("after"), Details: text("details"),
		},
	}
}

// Two rows never give the bytes that a code goes over, also where a text moves from a field into its neighbour.
func TestEncodingIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := anyRow(t)
		b := a
		fields := settable(reflect.ValueOf(&b).Elem(), nil)
		from := rapid.IntRange(0, len(fields)-2).Draw(t, "from")
		left, right := fields[from].String(), fields[from+1].String()
		at := rapid.IntRange(0, len(left+right)).Draw(t, "at")
		fields[from].SetString((left + right)[:at])
		fields[from+1].SetString((left + right)[at:])
		if rapid.Bool().Draw(t, "another") {
			b = anyRow(t)
		}
		a.MAC, b.MAC = "", ""
		if same := bytes.Equal(a.encode(nil), b.encode(nil)); same != reflect.DeepEqual(a, b) {
			t.Fatalf("equal bytes: %v\n%+v\n%+v", same, a, b)
		}
	})
}

// settable gives the texts of a row but its code, in the order of the encoding or near it.
func settable(v reflect.Value, out []reflect.Value) []reflect.Value {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case v.Type().Field(i).Name == "MAC":
		case f.Kind() == reflect.String:
			out = append(out, f)
		case f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]():
			out = settable(f, out)
		}
	}
	return out
}

// Each field of a row is under its code: one that is added and forgotten in the encoding is found here.
func TestEveryFieldIsUnderTheCode(t *testing.T) {
	t.Parallel()
	var r Row
	before := r.encode(nil)
	seen := 0
	for _, f := range settable(reflect.ValueOf(&r).Elem(), nil) {
		was := f.String()
		f.SetString(was + "x")
		if bytes.Equal(before, r.encode(nil)) {
			t.Errorf("field %d of %s is not under the code", seen, f.Type())
		}
		f.SetString(was)
		seen++
	}
	for _, change := range []func(*Row){func(r *Row) { r.Seq++ }, func(r *Row) { r.Time = r.Time.Add(1) }, func(r *Row) { r.Time = r.Time.Add(time.Second) }} {
		changed := r
		change(&changed)
		if bytes.Equal(before, changed.encode(nil)) {
			t.Error("seq or time is not under the code")
		}
		seen++
	}
	if all := reflect.TypeFor[Row]().NumField() + reflect.TypeFor[Entry]().NumField(); seen != all {
		// One embedded Entry and the code less; one field of the actor and one of the time more.
		t.Errorf("%d changes were tried, of %d", seen, all)
	}
}

// TestJSON: rows are written as encoding/json writes them, whatever stands in their texts, where what each row has is there.
func TestJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return rapid.OneOf(rapid.StringMatching(`[a-z <>&"\\]{0,9}`), rapid.String(), rapid.SampledFrom([]string{"霧の港", "\u2028", "\x7f", "a\xff", `{"a":"b"}`})).Draw(t, label)
		}
		rows := rapid.SliceOfN(rapid.Custom(anyRow), 0, 3).Draw(t, "rows")
		for i := range rows {
			for _, f := range settable(reflect.ValueOf(&rows[i]).Elem(), nil) {
				f.SetString(text("text"))
			}
			r := &rows[i]
			r.MAC = text("mac")
			for _, needed := range []*string{&r.Namespace, &r.Session, (*string)(&r.Kind), &r.Verdict, &r.Reason} {
				*needed = cmp.Or(*needed, "x")
			}
		}
		want, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		if is := JSON(rows); !bytes.Equal(is, want) {
			t.Fatalf("%s\n%s", is, want)
		}
	})
}
