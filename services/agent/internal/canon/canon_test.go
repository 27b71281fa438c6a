package canon

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The example of RFC 8785, 3.2.2 and 3.2.4, byte for byte, but for one number: 333333333.33333329 is no double, and is refused
// here.
func TestRFC8785Example(t *testing.T) {
	t.Parallel()
	const in = `{
  "numbers": [%s, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`
	want, err := hex.DecodeString(strings.Join(strings.Fields(`
7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d`), ""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := JSON(fmt.Appendf(nil, in, "333333333.3333333")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := JSON(fmt.Appendf(nil, in, "333333333.33333329")); reason(err) != InexactNumber {
		t.Errorf("333333333.33333329 gives %v", err)
	}
}

// Keys sort by UTF-16 units, where a character beyond U+FFFF stands before U+FB33 (RFC 8785, 3.2.3).
func TestRFC8785Sorting(t *testing.T) {
	t.Parallel()
	const in = `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`
	const want = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"
	if got, err := JSON([]byte(in)); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Appendix B of RFC 8785.
func TestRFC8785Numbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308", 0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000", 0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23", 0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21", 0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001", 0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333", 0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		if got := formatNumber(math.Float64frombits(bits)); got != want {
			t.Errorf("%016x is printed as %s, want %s", bits, got, want)
		}
	}
}

func reason(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{ \"b\" : [ 1.0 ,\t-0 ,\r\n 1e2 ] , \"a\" : { } }": `{"a":{},"b":[1,0,100]}`,
		`"A\u3042/"`:               `"Aあ/"`,
		`"\ud83d\ude00"`:           `"😀"`,
		`9007199254740994`:         `9007199254740994`,
		`100000000000000000000000`: `1e+23`,
		`0.1`:                      `0.1`,
		`0e99999999999999999999`:   `0`,
		"\"\x7f\u2028<>&\"":        "\"\x7f\u2028<>&\"",
		`[]`:                       `[]`,
		`{"":0}`:                   `{"":0}`,
		`{"a":1,"A":2}`:            `{"A":2,"a":1}`,
		`{"é":1,"e\u0301":2}`:      "{\"e\u0301\":2,\"é\":1}",
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth): strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
	} {
		if got, err := JSON([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

// What two readers could understand in two ways, or what costs too much, is refused, and the error says where it stands
// (field/review-agent.md S6).
func TestRefused(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Error{
		`{"a":1,"a":1}`:                        {Reason: DoubledKey, Path: "a"},
		`{"a":1,"\u0061":2}`:                   {Reason: DoubledKey, Path: "a"},
		`{"x":[{"a.b":{},"a.b":{}}]}`:          {Reason: DoubledKey, Path: `x[0]."a.b"`},
		`{"n":[1,9007199254740993]}`:           {Reason: InexactNumber, Path: "n[1]"},
		`1152921504606846976`:                  {Reason: InexactNumber}, // 2^60 is a double, but is printed as 1152921504606847000
		`0.1000000000000000055511151231257827`: {Reason: InexactNumber},
		`1e400`:                                {Reason: InexactNumber},
		`1e-400`:                               {Reason: InexactNumber},
		`1e99999999999999999999`:               {Reason: InexactNumber},
		`"\ud800"`:                             {Reason: LoneSurrogate},
		`"\udc00\ud800"`:                       {Reason: LoneSurrogate},
		`"\ud800\u0041"`:                       {Reason: LoneSurrogate},
		`{"\udead":1}`:                         {Reason: LoneSurrogate},
		"\"\xed\xa0\x80\"":                     {Reason: Syntax},
		"\"\xff\"":                             {Reason: Syntax},
		"\"\x00\"":                             {Reason: Syntax},
		`NaN`:                                  {Reason: Syntax},
		`{"a":Infinity}`:                       {Reason: Syntax, Path: "a"},
		`-`:                                    {Reason: Syntax},
		`01`:                                   {Reason: Syntax},
		`1.`:                                   {Reason: Syntax},
		`.5`:                                   {Reason: Syntax},
		`1e`:                                   {Reason: Syntax},
		`+1`:                                   {Reason: Syntax},
		`0x10`:                                 {Reason: Syntax},
		``:                                     {Reason: Syntax},
		`{"a":"b`:                              {Reason: Syntax, Path: "a"},
		`{"a":1`:                               {Reason: Syntax},
		`{"a":1,}`:                             {Reason: Syntax},
		`[1,]`:                                 {Reason: Syntax, Path: "[1]"},
		`{} {}`:                                {Reason: Syntax},
		`{a:1}`:                                {Reason: Syntax},
		`'a'`:                                  {Reason: Syntax},
		`nul`:                                  {Reason: Syntax},
		`"\x41"`:                               {Reason: Syntax},
		`"\u00g0"`:                             {Reason: Syntax},
		"\ufeff{}":                             {Reason: Syntax},
		`[/**/]`:                               {Reason: Syntax, Path: "[0]"},
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): {Reason: TooLarge, Path: strings.Repeat("[0]", MaxDepth+1)},
		"[" + strings.Repeat("0,", MaxValues) + "0]":                      {Reason: TooLarge, Path: "[" + strconv.Itoa(MaxValues-1) + "]"},
		`"` + strings.Repeat("a", MaxBytes) + `"`:                         {Reason: TooLarge},
	} {
		got, err := JSON([]byte(in))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.60s: got %.60s, %v", in, got, err)
			continue
		}
		if e.Reason != want.Reason || e.Path != want.Path && want.Reason != TooLarge || e.Message == "" {
			t.Errorf("%.60s: %s at %q, want %s at %q", in, e.Reason, e.Path, want.Reason, want.Path)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	if got, err := Object(nil); err != nil || string(got) != "{}" {
		t.Errorf("no arguments: %s, %v", got, err)
	}
	for _, in := range []string{`[]`, `"a"`, `null`, `1`} {
		if _, err := Object([]byte(in)); reason(err) != NotObject {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// anyJSON are values that JSON can hold, characters beyond U+FFFF among them.
func anyJSON(depth int) *rapid.Generator[any] {
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab\"\\\n\x00\x7fé\ufb33あ😀\u2028")))
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(n int64) any { return float64(n) }),
		rapid.Map(rapid.Float64(), func(f float64) any {
			if math.IsInf(f, 0) || math.IsNaN(f) {
				return 0.5
			}
			return f
		}),
	)
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(
		scalar, rapid.Map(rapid.SliceOfN(anyJSON(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(text, anyJSON(depth-1), 0, 4), func(m map[string]any) any { return m }),
	)
}

// Values are equal exactly where their canonical bytes are; canonical text is its own canonical form; and it reads as the
// value that was written.
func TestCanonicalProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (any, []byte) {
			v := anyJSON(3).Draw(t, label)
			text, err := json.MarshalIndent(v, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			out, err := JSON(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !Is(out) {
				t.Fatalf("the canonical form of %s is not its own: %s", text, out)
			}
			var back any
			if err := json.Unmarshal(out, &back); err != nil || !equal(v, back) {
				t.Fatalf("%s became %s: %v", text, out, err)
			}
			return v, out
		}
		a, textA := draw("a")
		b, textB := draw("b")
		if equal(a, b) != (bytes.Equal(textA, textB)) {
			t.Fatalf("%s and %s", textA, textB)
		}
	})
}

// equal compares values by what JSON tells: an empty list is one, whether it is nil or not.
func equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			if other, ok := y[k]; !ok || !equal(x[k], other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// Of two integers, each as a person or a program may write it, those of other value never have the same bytes.
func TestNumbersApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		m := n + rapid.Int64Range(1, 3).Draw(t, "more")
		a, errA := JSON([]byte(strconv.FormatInt(n, 10)))
		b, errB := JSON([]byte(strconv.FormatInt(m, 10)))
		if errA == nil && errB == nil && bytes.Equal(a, b) {
			t.Fatalf("%d and %d are both %s", n, m, a)
		}
	})
}

// No input makes it panic, and what it takes is JSON that encoding/json understands in the same way.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e-7,"\ud83d\ude00"],"b":{}}`, `9007199254740993`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[[[[`, `-0.0e-0`, `{"é":null}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := JSON(in)
		if err != nil {
			return
		}
		if !Is(out) {
			t.Fatalf("%q became %q, which is not canonical", in, out)
		}
		var was, is any
		if err := json.Unmarshal(in, &was); err != nil {
			t.Fatalf("%q was taken: %v", in, err)
		}
		if err := json.Unmarshal(out, &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
	})
}
