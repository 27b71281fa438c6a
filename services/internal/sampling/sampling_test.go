package sampling_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

func ptr[T any](v T) *T { return &v }

func check(s sampling.Sampling) []string {
	var found []string
	s.Check(func(field, format string, args ...any) {
		found = append(found, field+": "+fmt.Sprintf(format, args...))
	})
	return found
}

func TestLimitsAreIncluded(t *testing.T) {
	t.Parallel()
	biases := make([]sampling.Bias, sampling.MaxBiases)
	for i := range biases {
		biases[i] = sampling.Bias{Token: math.MaxInt32 - i, Bias: -100}
	}
	for name, s := range map[string]sampling.Sampling{
		"nothing": {},
		"least": {
			Temperature: ptr(0.0), TopK: ptr(0), TopP: ptr(0.0), MinP: ptr(0.0), TypicalP: ptr(0.0), TopA: ptr(0.0), TailFree: ptr(0.0), RepeatPenalty: ptr(0.0),
			RepeatSlope: ptr(0.0), RepeatRange: ptr(0), PresencePenalty: ptr(-2.0), FrequencyPenalty: ptr(-2.0), DRY: &sampling.DRY{}, XTC: &sampling.XTC{},
			Mirostat: &sampling.Mirostat{}, DynamicTemperature: &sampling.DynamicTemperature{}, Smoothing: &sampling.Smoothing{}, LogitBias: []sampling.Bias{{Bias: 100}},
		},
		"most": {
			Temperature: ptr(5.0), TopK: ptr(1_000_000), TopP: ptr(1.0), MinP: ptr(1.0), TypicalP: ptr(1.0), TopA: ptr(1.0), TailFree: ptr(1.0), RepeatPenalty: ptr(10.0),
			RepeatSlope: ptr(10.0), RepeatRange: ptr(1_000_000), PresencePenalty: ptr(2.0), FrequencyPenalty: ptr(2.0),
			DRY: &sampling.DRY{Multiplier: 10, Base: 10, AllowedLength: 1000, Range: 1_000_000, Breakers: slices.Repeat([]string{strings.Repeat("x", 256)}, 128)},
			XTC: &sampling.XTC{Probability: 1, Threshold: 1}, Mirostat: &sampling.Mirostat{Mode: 2, Tau: 20, Eta: 1},
			DynamicTemperature: &sampling.DynamicTemperature{Range: 5, Exponent: 10}, Smoothing: &sampling.Smoothing{Factor: 10, Curve: 10},
			LogitBias: biases, Grammar: strings.Repeat("x", 64<<10),
		},
	} {
		if found := check(s); found != nil {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestAllThatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	got := check(sampling.Sampling{
		Temperature: ptr(5.1), TopP: ptr(nan), MinP: ptr(-0.1), RepeatPenalty: ptr(math.Inf(1)), TypicalP: ptr(1.1), TopA: ptr(1.1), TailFree: ptr(1.1), RepeatSlope: ptr(11.0),
		PresencePenalty: ptr(-2.1), FrequencyPenalty: ptr(2.1), TopK: ptr(-1), RepeatRange: ptr(1_000_001),
		DRY: &sampling.DRY{Multiplier: 11, Base: 0.5, AllowedLength: -1, Range: -1, Breakers: []string{"", strings.Repeat("x", 257)}},
		XTC: &sampling.XTC{Probability: 2, Threshold: nan}, Mirostat: &sampling.Mirostat{Mode: 3, Tau: 21, Eta: 2},
		DynamicTemperature: &sampling.DynamicTemperature{Range: 6, Exponent: 11}, Smoothing: &sampling.Smoothing{Factor: nan, Curve: -1},
		LogitBias: []sampling.Bias{{Token: -1, Bias: 101}, {Token: 5}, {Token: 5}}, Grammar: strings.Repeat("x", 64<<10+1),
	})
	want := []string{
		"temperature: must be from 0 to 5, and is 5.1", "top_p: must be from 0 to 1, and is NaN", "min_p: must be from 0 to 1, and is -0.1",
		"repeat_penalty: must be from 0 to 10, and is +Inf", "typical_p: must be from 0 to 1, and is 1.1",
		"top_a: must be from 0 to 1, and is 1.1", "tail_free: must be from 0 to 1, and is 1.1", "repeat_slope: must be from 0 to 10, and is 11",
		"presence_penalty: must be from -2 to 2, and is -2.1", "frequency_penalty: must be from -2 to 2, and is 2.1",
		"top_k: must be from 0 to 1000000, and is -1", "repeat_range: must be from 0 to 1000000, and is 1000001",
		"dry.multiplier: must be from 0 to 10, and is 11", "dry.base: must be from 1 to 10, and is 0.5",
		"dry.allowed_length: must be from 0 to 1000, and is -1", "dry.range: must be from 0 to 1000000, and is -1",
		"dry.breakers[0]: must not be empty", "dry.breakers[1]: is 257 bytes long; the limit is 256 bytes",
		"xtc.probability: must be from 0 to 1, and is 2", "xtc.threshold: must be from 0 to 1, and is NaN",
		"mirostat.mode: must be from 0 to 2, and is 3", "mirostat.tau: must be from 0 to 20, and is 21", "mirostat.eta: must be from 0 to 1, and is 2",
		"dynamic_temperature.range: must be from 0 to 5, and is 6", "dynamic_temperature.exponent: must be from 0 to 10, and is 11",
		"smoothing.factor: must be from 0 to 10, and is NaN", "smoothing.curve: must be from 0 to 10, and is -1",
		"logit_bias[0].token: must be from 0 to 2147483647, and is -1", "logit_bias[0].bias: must be from -100 to 100, and is 101",
		"logit_bias[2].token: is 5, as in logit_bias[1]; each token has one bias", "grammar: is 65537 bytes long; the limit is 65536 bytes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for field, s := range map[string]sampling.Sampling{
		"dry.breakers: has 129 items; the limit is 128": {DRY: &sampling.DRY{Multiplier: 1, Breakers: make([]string, 129)}},
		"logit_bias: has 513 items; the limit is 512":   {LogitBias: make([]sampling.Bias, 513)},
	} {
		if found := check(s); !slices.Equal(found, []string{field}) {
			t.Errorf("%q, want %q", found, field)
		}
	}
}

// TestASwitchThatIsOffSaysSo: who forgets the number that switches a group on is told.
func TestASwitchThatIsOffSaysSo(t *testing.T) {
	t.Parallel()
	for field, s := range map[string]sampling.Sampling{
		"dry.multiplier": {DRY: &sampling.DRY{AllowedLength: 3}}, "xtc.probability": {XTC: &sampling.XTC{Threshold: 0.1}}, "mirostat.mode": {Mirostat: &sampling.Mirostat{Eta: 0.1}},
		"dynamic_temperature.range": {DynamicTemperature: &sampling.DynamicTemperature{Exponent: 1}}, "smoothing.factor": {Smoothing: &sampling.Smoothing{Curve: 1}},
	} {
		want := field + ": is 0, which turns it off, and the other fields would do nothing: give it, or leave them out"
		if found := check(s); !slices.Equal(found, []string{want}) {
			t.Errorf("%q, want %q", found, want)
		}
	}
}

// TestOver: each field is by itself the upper one's where that says something, and none is forgotten.
func TestOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		upper, lower := rapid.Make[sampling.Sampling]().Draw(t, "upper"), rapid.Make[sampling.Sampling]().Draw(t, "lower")
		got, u, l := reflect.ValueOf(upper.Over(lower)), reflect.ValueOf(upper), reflect.ValueOf(lower)
		for i := range got.NumField() {
			want := u.Field(i)
			if want.IsZero() || want.Kind() == reflect.Slice && want.Len() == 0 {
				want = l.Field(i)
			}
			if diff := cmp.Diff(want.Interface(), got.Field(i).Interface()); diff != "" {
				t.Fatalf("%s: %s", got.Type().Field(i).Name, diff)
			}
		}
	})
}
