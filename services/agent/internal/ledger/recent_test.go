package ledger

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// fill gives all that a value holds some value: lists and maps may be nil, empty, or have entries.
func fill(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(r.Int63n(1 << 50)).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), r)
		}
	case reflect.String:
		v.SetString([]string{"", "a", "<紡>"}[r.Intn(3)])
	case reflect.Bool:
		v.SetBool(r.Intn(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int63n(3))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(r.Int63n(3)))
	case reflect.Slice:
		if n := r.Intn(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n+1))
		}
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.Map:
		if n := r.Intn(4); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n - 1 {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(key, r)
				fill(value, r)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Pointer:
		if r.Intn(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), r)
		}
	default:
		panic("a session has a " + v.Kind().String())
	}
}

// shared names what two values have in common that one could change in the other.
func shared(a, b reflect.Value, path string) (all []string) {
	switch a.Kind() {
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range a.NumField() {
			all = append(all, shared(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)...)
		}
	case reflect.Slice:
		if a.Cap() > 0 && b.Cap() > 0 && a.UnsafePointer() == b.UnsafePointer() {
			all = append(all, path)
		}
		for i := range min(a.Len(), b.Len()) {
			all = append(all, shared(a.Index(i), b.Index(i), path+"[]")...)
		}
	case reflect.Map:
		if !a.IsNil() && a.UnsafePointer() == b.UnsafePointer() {
			all = append(all, path)
		}
		for _, key := range a.MapKeys() {
			if in := b.MapIndex(key); in.IsValid() {
				all = append(all, shared(a.MapIndex(key), in, path+"{}")...)
			}
		}
	case reflect.Pointer:
		if !a.IsNil() && a.UnsafePointer() == b.UnsafePointer() {
			all = append(all, path)
		}
	default:
	}
	return all
}

// TestRecent: a session that is taken from memory is the one that is read, in each of its fields, and nobody's: what one does with it
// nobody else sees.
func TestRecent(t *testing.T) {
	t.Parallel()
	r, l := rand.New(rand.NewSource(1)), newRig(t).Ledger //nolint:gosec // no secret
	for range 500 {
		var s, read Session
		fill(reflect.ValueOf(&s).Elem(), r)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		body, err := l.encode(text, s.Head)
		if err != nil {
			t.Fatal(err)
		}
		kept := newBodies()
		stored, err := parse(store.Session{ID: s.ID, Body: body})
		if err != nil || !bytes.Equal(stored.text, text) {
			t.Fatalf("%s, %v", stored.text, err)
		}
		kept.wrote(&s, body, text)
		k := kept.find(s.ID, body)
		if k == nil {
			t.Fatalf("it is not known: %s", body)
		}
		if err := json.Unmarshal(k.text, &read); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		read.Version, read.Head = s.Version, s.Head
		got := k.session.copy()
		if !reflect.DeepEqual(got, read) {
			t.Fatal(cmp.Diff(read, got))
		}
		for _, other := range []Session{s, k.session} {
			if all := shared(reflect.ValueOf(other), reflect.ValueOf(got), ""); all != nil {
				t.Fatalf("two have one and the same %v", all)
			}
		}
		if kept.find(s.ID, append([]byte(" "), body...)) != nil {
			t.Fatal("another body is taken for it")
		}
	}
}
