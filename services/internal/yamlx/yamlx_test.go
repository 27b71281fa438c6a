package yamlx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type section struct {
	Name    string        `yaml:"name"`
	Timeout time.Duration `yaml:"timeout"`
}

type base struct {
	Listen string `yaml:"listen"`
}

type settings struct {
	base    `yaml:",inline"`
	Port    int                `yaml:"port"`
	Small   uint8              `yaml:"small"`
	Ratio   float64            `yaml:"ratio"`
	On      bool               `yaml:"on"`
	Hosts   []string           `yaml:"hosts"`
	Section section            `yaml:"section"`
	Named   map[string]section `yaml:"named"`
	Maybe   *int               `yaml:"maybe"`
	When    time.Time          `yaml:"when"`
	Raw     Node               `yaml:"raw"`
	Unread  string
}

func TestDecode(t *testing.T) {
	t.Parallel()
	got := settings{Port: 1, Section: section{Timeout: time.Second}, Hosts: []string{"default"}, Unread: "kept"}
	err := Decode([]byte(`
listen: 127.0.0.1:1
port: 8
small: 255
ratio: 0.5
on: true
hosts: [a, "b"]
section:
  name: 15
named: {x: {name: はい, timeout: 1m30s}}
maybe: 0
when: 2026-01-02T03:04:05Z
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	want := settings{
		base: base{"127.0.0.1:1"}, Port: 8, Small: 255, Ratio: 0.5, On: true, Hosts: []string{"a", "b"},
		Section: section{"15", time.Second}, Named: map[string]section{"x": {"はい", 90 * time.Second}}, Maybe: &zero,
		When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Unread: "kept",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key with a suggestion", "prot: 8", "line 1: prot: unknown key; did you mean port?"},
		{"unknown key without one", "zzzzzz: 8", "line 1: zzzzzz: unknown key"},
		{"unread field", "Unread: x", "line 1: Unread: unknown key"},
		{"key twice", "port: 1\nport: 2", "line 2: port: stands here twice, also in line 1"},
		{"deep", "named:\n  x:\n    naem: 1", "line 3: named.x.naem: unknown key; did you mean name?"},
		{"all at once", "port: x\nsmall: 256\non: yes", "line 1: port: \"x\" must be a whole number from -9223372036854775808 to 9223372036854775807\nline 2: small: \"256\" must be a whole number from 0 to 255\nline 3: on: \"yes\" must be true or false"},
		{"no value", "port:", "line 1: port: has no value; leave the key out for the default"},
		{"list for value", "port: [1]", "line 1: port: must be a single value, not a list or a mapping"},
		{"value for list", "hosts: a", "line 1: hosts: must be a list, such as [a, b]"},
		{"value for section", "section: a", "line 1: section: must be a mapping of keys to values"},
		{"duration without unit", "section: {timeout: 15}", `line 1: section.timeout: "15" must be a duration with its unit, such as 500ms, 15s or 2m`},
		{"no number", "ratio: .nan", `line 1: ratio: ".nan" must be a number, such as 0.8`},
		{"item", "hosts: [a, [b]]", "line 1: hosts[1]: must be a single value, not a list or a mapping"},
		{"foreign tag", "listen: !secret x", "line 1: listen: has the tag !secret, which is not known here"},
		{"merge key", "section: {<<: {name: a}}", "line 1: section: has a key that is not plain text"},
		{"alias", "a: &x [1]\nb: *x", "line 2: is an alias (*x); write the value out"},
		{"two documents", "port: 1\n---\nport: 2", "holds more than one document"},
		{"not YAML", "port: [", "is not YAML: line 1: did not find expected node content"},
		{"top is a list", "- a", "line 1: must be a mapping of keys to values"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Decode([]byte(tt.text), &settings{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmptySectionKeepsDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "section:\n  # name: x\n", "maybe: null"} {
		got := settings{Section: section{Name: "default"}}
		if err := Decode([]byte(text), &got); err != nil || got.Section.Name != "default" {
			t.Errorf("%q: %v, %v", text, got.Section, err)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"[", "- ", "{a: ", "? "} {
		if _, err := Parse([]byte(strings.Repeat(level, 100_000))); err == nil || err.Error() != "is nested more than 64 deep" {
			t.Errorf("%q 100,000 times: %v", level, err)
		}
	}
	deep := strings.Repeat("[", MaxDepth+2) + strings.Repeat("]", MaxDepth+2)
	if _, err := Parse([]byte(deep)); err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
		t.Errorf("depth: %v", err)
	}
	if _, err := Parse(make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "the limit is 16777216") {
		t.Errorf("size: %v", err)
	}
	var many strings.Builder
	for i := range 10 * maxProblems {
		fmt.Fprintf(&many, "k%d: 1\n", i)
	}
	var e *Error
	if err := Decode([]byte(many.String()), &settings{}); !errors.As(err, &e) || len(e.Problems) != maxProblems {
		t.Errorf("problems: %v", err)
	}
}

// yaml.v3 alone compares every key with every other: this takes it minutes.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "key%d: %d\n", i, i)
	}
	got := map[string]int{}
	if err := Decode([]byte(b.String()), &got); err != nil || len(got) != 100_000 || got["key99999"] != 99_999 {
		t.Errorf("%d keys, %v", len(got), err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	root := &Node{Kind: Mapping}
	for k, v := range map[string]string{"listen": "null", "port": "8", "hosts": "a, b", "on": "true"} {
		root.Content = append(root.Content, Text(k), Text(v))
	}
	var got settings
	if err := DecodeNode(root, &got); err != nil {
		t.Fatal(err)
	}
	want := settings{base: base{"null"}, Port: 8, Hosts: []string{"a", "b"}, On: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); diff != "" {
		t.Error(diff)
	}
	if err := DecodeNode(&Node{Kind: Mapping, Content: []*Node{Text("hosts"), Text(" ")}}, &got); err != nil || len(got.Hosts) != 0 {
		t.Errorf("an empty list: %v, %v", got.Hosts, err)
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	b, err := Marshal(map[string]any{"b": []int{1}, "a": "yes"})
	if err != nil || string(b) != "a: \"yes\"\nb:\n  - 1\n" {
		t.Errorf("%q, %v", b, err)
	}
	n, err := Parse([]byte("# kept\na: 1 # too\n"))
	if err != nil {
		t.Fatal(err)
	}
	if Get(n, "a").Value != "1" || Get(n, "b") != nil || Get(nil, "a") != nil {
		t.Error("Get")
	}
	if b, err := Marshal(n); err != nil || string(b) != "# kept\na: 1 # too\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"listen", "max_body_bytes", "data", "log"}
	for word, want := range map[string]string{
		"lisen": "listen", "max_body": "", "max_bdy_byte": "max_body_bytes", "dtaa": "data", "lgo": "log", "x": "", "": "",
		strings.Repeat("long", 100): "",
	} {
		if got := Closest(word, known); got != want {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "port: 8", "a: &a [*a]", "<<: {a: b}", "? [x]\n: y", "hosts: [a, b]\nsection: {name: x}", "--- |\n x", "\t", "%YAML 1.1\n---\n",
		"named: {a: {timeout: 1s}, a: {}}", "raw: {x: [1, {y: z}]}", "\xff\xfe", "maybe: ~", "when: 2001-01-01", "{", "- -  - [",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got settings
		err := Decode(text, &got)
		var e *Error
		if err != nil && (!errors.As(err, &e) || len(e.Problems) == 0 || e.Error() == "") {
			t.Errorf("an error that says nothing: %#v", err)
		}
	})
}

func ExampleDecode() {
	var dst struct {
		Listen string        `yaml:"listen"`
		Idle   time.Duration `yaml:"idle"`
	}
	fmt.Println(Decode([]byte("lisen: 127.0.0.1:7450\nidle: 30"), &dst))
	// Output:
	// line 1: lisen: unknown key; did you mean listen?
	// line 2: idle: "30" must be a duration with its unit, such as 500ms, 15s or 2m
}
