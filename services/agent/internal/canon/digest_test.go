package canon

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var (
	hashA, hashB = Sum([]byte("a")), Sum([]byte("b"))
	bound        = Binding{Namespace: "default", Session: "s", Task: "t", Approval: "a"}
)

// The layout of what is hashed is part of the record: old digests must stay what they are.
func TestDigestsStayTheSame(t *testing.T) {
	t.Parallel()
	call, err := CallHash(Call{Tool: "write", Definition: hashA, Args: []byte(`{"content":"hello","path":"a.txt"}`), Root: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if want := Sum([]byte(`{"args":{"content":"hello","path":"a.txt"},"definition":"` + string(hashA) + `","of":"call","root":"work","server":"","tool":"write","v":1}`)); call != want {
		t.Errorf("the hash of a call is %s, want %s", call, want)
	}
	for want, s := range map[string]Subject{
		`{"approval":"a","call_hash":"` + string(call) + `","hidden":false,"kind":"TOOL_CALL","namespace":"default","of":"approval","process":null,"session":"s","targets":[{"after":"` + string(hashA) + `","before":null,"mode":420,"path":"a.txt"}],"task":"t","v":1}`: ToolCall{Call: call, Targets: []Target{{Path: "a.txt", After: hashA, Mode: 0o644}}},
		`{"approval":"a","items":{"constraints":["c"],"goal":"g","open_questions":[],"plan_brief":[],"why_now":""},"kind":"PLAN","namespace":"default","of":"approval","session":"s","task":"t","text":"p","v":1}`:                                                        Plan{Text: "p", Items: Items{Goal: "g", Constraints: []string{"c"}}},
		`{"approval":"a","executed":[{"call_hash":"` + string(call) + `","seq":7,"status":"EXECUTED","targets":[]}],"kind":"RESULT","namespace":"default","of":"approval","session":"s","task":"t","text":"r","v":1}`:                                                     Result{Text: "r", Executed: []Executed{{Seq: 7, Call: call, Status: "EXECUTED"}}},
		`{"approval":"a","attempt":1,"call_hash":"` + string(call) + `","intent":9,"kind":"OUTCOME","namespace":"default","of":"approval","session":"s","targets":[],"task":"t","v":1}`:                                                                                   Outcome{Call: call, Intent: 9, Attempt: 1},
	} {
		if got, err := Digest(bound, s); err != nil || got != Sum([]byte(want)) {
			t.Errorf("%s: %s, %v", s.Kind(), got, err)
		}
	}
}

// Where something cannot be hashed for sure, there is no digest, and so nothing can be decided or run
// (field/review-agent.md S29; cases/agent.md c23: hash fields exist but are empty).
func TestDigestRefuses(t *testing.T) {
	t.Parallel()
	good := Call{Tool: "write", Definition: hashA, Args: []byte(`{}`), Root: "work"}
	for name, change := range map[string]func(*Call){
		"no tool": func(c *Call) { c.Tool = "" }, "no definition": func(c *Call) { c.Definition = "" }, "an upper case hash": func(c *Call) { c.Definition = Hash(strings.ToUpper(string(hashA))) },
		"arguments as written": func(c *Call) { c.Args = []byte(`{ }`) }, "no arguments": func(c *Call) { c.Args = nil }, "no UTF-8": func(c *Call) { c.Root = "\xff" },
	} {
		c := good
		change(&c)
		if h, err := CallHash(c); err == nil {
			t.Errorf("%s: %s", name, h)
		}
	}
	for name, s := range map[string]Subject{
		"nothing": nil, "no call": ToolCall{}, "a file without hash": ToolCall{Call: hashA, Targets: []Target{{Path: "a", Before: "new"}}}, "no path": ToolCall{Call: hashA, Targets: []Target{{Before: hashA}}},
		"an empty plan": Plan{}, "no UTF-8": Plan{Text: "a\xff"}, "a row without status": Result{Text: "r", Executed: []Executed{{Call: hashA}}}, "an outcome of no call": Outcome{},
	} {
		if h, err := Digest(bound, s); err == nil {
			t.Errorf("%s: %s", name, h)
		}
	}
	for _, b := range []Binding{{Session: "s", Task: "t", Approval: "a"}, {Namespace: "n", Task: "t", Approval: "a"}, {Namespace: "n", Session: "s", Approval: "a"}, {Namespace: "n", Session: "s", Task: "t"}} {
		if h, err := Digest(b, Plan{Text: "p"}); err == nil {
			t.Errorf("%+v: %s", b, h)
		}
	}
}

// word draws from so few texts that equal values, and values that only differ in where one field ends, both come up often.
func word(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"a", "aa", "aaa", `a","b`, "b", "ba", "ab"}).Draw(t, label)
}

func words(t *rapid.T, label string) []string {
	out := []string{}
	for range rapid.IntRange(0, 2).Draw(t, label) {
		out = append(out, word(t, label))
	}
	return out
}

func drawTargets(t *rapid.T) []Target {
	out := []Target{}
	for range rapid.IntRange(0, 2).Draw(t, "targets") {
		state := rapid.SampledFrom([]Hash{"", hashA, hashB})
		out = append(out, Target{Path: word(t, "path"), Before: state.Draw(t, "before"), After: state.Draw(t, "after"), Mode: rapid.SampledFrom([]uint32{0, 0o644}).Draw(t, "mode")})
	}
	return out
}

func drawSubject(t *rapid.T) Subject {
	call := rapid.SampledFrom([]Hash{hashA, hashB}).Draw(t, "call")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		c := ToolCall{Call: call, Targets: drawTargets(t), Hidden: rapid.Bool().Draw(t, "hidden")}
		if rapid.Bool().Draw(t, "exec") {
			c.Process = &Process{Folder: word(t, "folder"), Environment: words(t, "environment"), Profile: word(t, "profile")}
		}
		return c
	case 1:
		return Plan{Text: word(t, "text"), Items: Items{word(t, "goal"), word(t, "why"), words(t, "constraints"), words(t, "plan"), words(t, "questions")}}
	case 2:
		rows := []Executed{}
		for range rapid.IntRange(0, 2).Draw(t, "rows") {
			rows = append(rows, Executed{Seq: rapid.Int64Range(1, 2).Draw(t, "seq"), Call: call, Status: word(t, "status"), Targets: drawTargets(t)})
		}
		return Result{Text: word(t, "text"), Executed: rows}
	}
	return Outcome{Call: call, Targets: drawTargets(t), Intent: rapid.Int64Range(1, 2).Draw(t, "intent"), Attempt: rapid.Int64Range(1, 2).Draw(t, "attempt")}
}

// Digests are equal exactly where everything they are made of is: no text can be moved from a field into its neighbour, from
// a list into the next, or from one kind to another.
func TestDigestInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (string, Hash) {
			b := Binding{word(t, "namespace"), word(t, "session"), word(t, "task"), word(t, "approval"), rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "salt")}
			if rapid.Bool().Draw(t, "usual") {
				b = bound
			}
			s := drawSubject(t)
			h, err := Digest(b, s)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%q %s %s", b, s.Kind(), text), h
		}
		a, hashOfA := draw()
		b, hashOfB := draw()
		if (a == b) != (hashOfA == hashOfB) {
			t.Fatalf("%s has %s, %s has %s", a, hashOfA, b, hashOfB)
		}
	})
}

// leaves calls back with each text, number and flag in a value.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Pointer:
		leaves(v.Elem(), path, visit)
	default:
		visit(path, v)
	}
}

// change gives a leaf another value that it may have.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		if v.Type() == reflect.TypeFor[Hash]() {
			v.SetString(string(Sum([]byte(v.String()))))
		} else {
			v.SetString(v.String() + "x")
		}
	case reflect.Uint32:
		v.SetUint(v.Uint() + 1)
	default:
		v.SetInt(v.Int() + 1)
	}
}

// Every field of everything that is bound counts: none can be added and forgotten in the digest.
func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	some := func() []Target { return []Target{{Path: "a", Before: hashA, After: hashB, Mode: 0o644}} }
	for _, subject := range []func() any{
		func() any {
			return &ToolCall{Call: hashA, Targets: some(), Process: &Process{Folder: "1:2", Environment: []string{"PATH"}, Profile: "p"}}
		},
		func() any {
			return &Plan{Text: "t", Items: Items{"g", "w", []string{"c"}, []string{"p"}, []string{"q"}}}
		},
		func() any {
			return &Result{Text: "t", Executed: []Executed{{Seq: 1, Call: hashA, Status: "EXECUTED", Targets: some()}}}
		},
		func() any { return &Outcome{Call: hashA, Targets: some(), Intent: 1, Attempt: 1} },
	} {
		hash := func(which int) (h Hash, name string, n int) {
			b, s := bound, subject()
			for _, v := range []reflect.Value{reflect.ValueOf(&b), reflect.ValueOf(s)} {
				leaves(v, v.Elem().Type().Name(), func(path string, leaf reflect.Value) {
					if n == which {
						name = path
						change(leaf)
					}
					n++
				})
			}
			h, err := Digest(b, s.(Subject))
			if err != nil {
				t.Fatal(err)
			}
			return h, name, n
		}
		was, _, n := hash(-1)
		seen := map[Hash]string{was: "nothing"}
		for i := range n {
			h, name, _ := hash(i)
			if other, twice := seen[h]; twice {
				t.Errorf("a change of %s gives the digest of a change of %s", name, other)
			}
			seen[h] = name
		}
	}
}

// A character moved from the end of one field to the beginning of the next gives another digest, for each pair of fields.
func TestDigestFieldsApart(t *testing.T) {
	t.Parallel()
	of := func(f [10]string) Hash {
		h, err := Digest(Binding{f[0], f[1], f[2], f[3], ""}, Plan{Text: f[4], Items: Items{f[5], f[6], []string{f[7]}, []string{f[8]}, []string{f[9]}}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	var all [10]string
	for i := range all {
		all[i] = "xy"
	}
	seen := map[Hash]int{of(all): -1}
	for i := range len(all) - 1 {
		moved := all
		moved[i], moved[i+1] = "x", "yxy"
		h := of(moved)
		if before, twice := seen[h]; twice {
			t.Errorf("moving out of field %d gives the digest of %d", i, before)
		}
		seen[h] = i
	}
	call := func(tool, server, root string) Hash {
		h, err := CallHash(Call{Tool: tool, Server: server, Definition: hashA, Args: []byte("{}"), Root: root})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if a, b, c := call("xy", "xy", "xy"), call("x", "yxy", "xy"), call("xy", "x", "yxy"); a == b || b == c || a == c {
		t.Error("fields of a call can be moved")
	}
}

// All pages together are the text, no character is cut in two, and only who has the last page can name the content digest,
// which fits no other approval (field/review-agent.md S23).
func TestPages(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "one": "short", "just one": strings.Repeat("a", PageBytes), "cut in a character": strings.Repeat("a", PageBytes-1) + "承認" + strings.Repeat("b", PageBytes),
		"the largest": strings.Repeat("あ\n", MaxShown/4),
	} {
		pages, err := Pages(hashA, content)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var b strings.Builder
		for i, p := range pages {
			if p.Number != i+1 || p.Of != len(pages) || len(p.Content) > PageBytes || !utf8.ValidString(p.Content) {
				t.Errorf("%s: page %d is %d of %d with %d bytes", name, i+1, p.Number, p.Of, len(p.Content))
			}
			if last := i == len(pages)-1; (p.ContentDigest != "") != (last && len(pages) > 1) {
				t.Errorf("%s: page %d has the digest %q", name, i+1, p.ContentDigest)
			}
			b.WriteString(p.Content)
		}
		if b.String() != content {
			t.Errorf("%s: the pages are another text", name)
		}
		here, _ := ContentDigest(hashA, content)
		there, _ := ContentDigest(hashB, content)
		other, _ := ContentDigest(hashA, content+" ")
		if here == there || here == other || !here.Valid() {
			t.Errorf("%s: the content digests %s, %s, %s", name, here, there, other)
		}
	}
	for name, content := range map[string]string{"too large": strings.Repeat("a", MaxShown+1), "no UTF-8": "\xff"} {
		if _, err := Pages(hashA, content); err == nil {
			t.Errorf("%s is shown", name)
		}
	}
}
