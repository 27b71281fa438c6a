package sampling_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// No field of a sampling stays -0, and the sampling itself is not changed.
func TestPlusZero(t *testing.T) {
	t.Parallel()
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		case reflect.Float64:
			v.SetFloat(math.Copysign(0, -1))
		}
	}
	var s sampling.Sampling
	fill(reflect.ValueOf(&s).Elem())
	before, _ := json.Marshal(s)
	plus, _ := json.Marshal(s.PlusZero())
	after, _ := json.Marshal(s)
	if strings.Contains(string(plus), "-0") || strings.ReplaceAll(string(before), "-0", "0") != string(plus) {
		t.Errorf("%s became %s", before, plus)
	}
	if !strings.Contains(string(before), "-0") || !bytes.Equal(after, before) {
		t.Errorf("%s was changed to %s", before, after)
	}
}
