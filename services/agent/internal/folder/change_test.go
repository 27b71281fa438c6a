package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// disk is what a scene looks at.
type disk map[string]string

func (d disk) look(name string) (State, error) {
	text, ok := d[name]
	switch {
	case !ok:
		return State{Path: name, Hash: Absent}, nil
	case strings.HasPrefix(text, "-> "):
		return State{Path: name, Kind: KindLink, Hash: LinkHash(text[3:]), Target: text[3:]}, nil
	case text == "/":
		return State{Path: name, Kind: KindFolder}, nil
	}
	return State{Path: name, Kind: KindFile, Hash: Of([]byte(text)), Size: int64(len(text)), Mode: 0o640, Content: []byte(text)}, nil
}

func (d disk) plan(t *testing.T, c Change) Plan {
	t.Helper()
	p, err := NewScene(d.look).Plan(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What an approval shows of each change.
func TestPlan(t *testing.T) {
	t.Parallel()
	d := disk{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "bin": "\x00\x01", "l": "-> /outside/v.txt", "e": "", "d": "/", "cr": "a\r\n"}
	for _, c := range []struct {
		change Change
		want   Plan
	}{
		{
			Change{Op: Write, Path: "a.txt", Content: []byte("1\n2\n3\n4\nfive\n6\n7\n8\n9")},
			Plan{Kind: KindFile, BeforeSize: 18, AfterSize: 20, Mode: 0o640, Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n"},
		},
		{Change{Op: Write, Path: "a.txt", Content: []byte(d["a.txt"])}, Plan{Kind: KindFile, BeforeSize: 18, AfterSize: 18, Mode: 0o640}},
		{Change{Op: Write, Path: "n 語.txt", Content: []byte("x\n")}, Plan{Kind: KindFile, AfterSize: 2, Mode: FileMode, Diff: "--- /dev/null\n+++ b/\"n 語.txt\"\n@@ -0,0 +1 @@\n+x\n"}},
		{Change{Op: Create, Path: "n", Content: nil}, Plan{Kind: KindFile, Mode: FileMode, Diff: "--- /dev/null\n+++ b/n\n"}},
		{Change{Op: Delete, Path: "e"}, Plan{Kind: KindFile, Diff: "--- a/e\n+++ /dev/null\n"}},
		{Change{Op: Delete, Path: "l"}, Plan{Kind: KindLink, Leads: "/outside/v.txt", Diff: "delete link l -> \"/outside/v.txt\"\n"}},
		{Change{Op: Delete, Path: "bin"}, Plan{Kind: KindFile, BeforeSize: 2, NotShown: Binary}},
		{Change{Op: Write, Path: "n", Content: make([]byte, MaxDiff+1)}, Plan{Kind: KindFile, AfterSize: MaxDiff + 1, Mode: FileMode, NotShown: Large}},
		{Change{Op: Move, Path: "e", To: "f"}, Plan{Kind: KindFile, Mode: 0o640, TargetTo: "f", Diff: "rename from e\nrename to f\n"}},
		{Change{Op: Write, Path: "cr", Content: []byte("a\n")}, Plan{Kind: KindFile, BeforeSize: 3, AfterSize: 2, Mode: 0o640, Diff: "--- a/cr\n+++ b/cr\n@@ -1 +1 @@\n-a\r\n+a\n", Invisible: 1}},
		{Change{Op: Create, Path: "n", Content: []byte("a\u202eb\u200b\n")}, Plan{Kind: KindFile, AfterSize: 9, Mode: FileMode, Diff: "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\u202eb\u200b\n", Invisible: 2}},
	} {
		got := d.plan(t, c.change)
		c.want.Op, c.want.Path, c.want.To, c.want.Target = c.change.Op, c.change.Path, c.change.To, c.change.Path
		was, _ := d.look(c.change.Path)
		c.want.Before = was.Hash
		switch c.change.Op {
		case Delete:
			c.want.After = Absent
		case Move:
			c.want.After = was.Hash
		default:
			c.want.After = Of(c.change.Content)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.change.Op, c.change.Path, diff)
		}
		if got.Unchanged() != (c.change.Op == Write && c.want.Diff == "" && c.want.NotShown == "") {
			t.Errorf("%s %s: unchanged %t", c.change.Op, c.change.Path, got.Unchanged())
		}
	}
}

// patch applies a unified diff, with all that it says checked: it is how one knows that the diff is whole and true.
func patch(before, diff string) (string, error) {
	lines := strings.SplitAfter(before, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out strings.Builder
	at := 0
	rest := strings.SplitAfter(diff, "\n")
	if len(rest) > 0 && rest[len(rest)-1] == "" {
		rest = rest[:len(rest)-1]
	}
	for i := 0; i < len(rest); i++ {
		line := rest[i]
		if i < 2 {
			continue // The names.
		}
		text := line[1:]
		if i+1 < len(rest) && strings.HasPrefix(rest[i+1], "\\ No newline") {
			text = strings.TrimSuffix(text, "\n")
		}
		switch line[0] {
		case '@':
			number, _, _ := strings.Cut(strings.TrimPrefix(line, "@@ -"), " ")
			number, _, _ = strings.Cut(number, ",")
			start, err := strconv.Atoi(number)
			if err != nil {
				return "", err
			}
			for ; at < start-1; at++ {
				out.WriteString(lines[at])
			}
		case ' ', '-':
			if at >= len(lines) || lines[at] != text {
				return "", fmt.Errorf("line %d is not %q", at+1, text)
			}
			at++
			if line[0] == ' ' {
				out.WriteString(text)
			}
		case '+':
			out.WriteString(text)
		case '\\':
		default:
			return "", fmt.Errorf("a line %q", line)
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String(), nil
}

// The diff of any two texts is whole and true: applied to the one it gives the other.
func TestDiffIsWhole(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "\n", "語\n", "a\r\n", "-a\n", "+++ x\n", "@@ -1 +1 @@\n", "\\ No newline at end of file\n", "a", "", "\u2028", "\r"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(line, 0, 300).Draw(t, "lines"), "") })
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		if rapid.Bool().Draw(t, "alike") { // Most changes leave most lines.
			cut := rapid.IntRange(0, len(before)).Draw(t, "cut")
			after = strings.ToValidUTF8(before[:cut]+after+before[cut:], "")
		}
		p, err := NewScene(disk{"x": before}.look).Plan(Change{Op: Write, Path: "x", Content: []byte(after)})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(before, "-> ") || before == "/" {
			return
		}
		got, err := patch(before, p.Diff)
		if before == after {
			got, err = before+p.Diff, nil
		}
		if err != nil || got != after {
			t.Fatalf("%v\nbefore %q\nafter  %q\ngot    %q\n%s", err, before, after, got, p.Diff)
		}
	})
}

// field/review-agent.md C70: in a batch, what a change finds is what the earlier ones leave; one that is refused leaves nothing.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := NewScene(disk{"a": "one", "b": "two", "d": "/"}.look)
	one, two, three := Of([]byte("one")), Of([]byte("two")), Of([]byte("three"))
	for i, c := range []struct {
		change        Change
		before, after Hash
		code          Code
	}{
		{Change{Op: Write, Path: "a", Content: []byte("two")}, one, two, ""},
		{Change{Op: Write, Path: "a", Content: []byte("three")}, two, three, ""},
		{Change{Op: Create, Path: "a"}, "", "", Exists},
		{Change{Op: Move, Path: "a", To: "b"}, "", "", Exists},
		{Change{Op: Move, Path: "a", To: "c"}, three, three, ""},
		{Change{Op: Delete, Path: "a"}, "", "", Missing},
		{Change{Op: Create, Path: "a", Content: []byte("one")}, Absent, one, ""},
		{Change{Op: Delete, Path: "c"}, three, Absent, ""},
		{Change{Op: Write, Path: "c", Content: []byte("two")}, Absent, two, ""},
		{Change{Op: Write, Path: "d"}, "", "", WrongType},
	} {
		p, err := s.Plan(c.change)
		var refusal *Refusal
		if c.code != "" {
			if !errors.As(err, &refusal) || refusal.Code != c.code {
				t.Errorf("%d: %v, want %s", i, err, c.code)
			}
		} else if err != nil || p.Before != c.before || p.After != c.after {
			t.Errorf("%d: %+v, %v", i, p, err)
		}
	}
}

// field/review-agent.md S21: for one who may not read the target, neither diff nor hashes are left, only counts.
func TestRedact(t *testing.T) {
	t.Parallel()
	p := disk{"a": "secret"}.plan(t, Change{Op: Write, Path: "a", Content: []byte("other")}).Redact()
	data, err := json.Marshal(p)
	if err != nil || strings.Contains(string(data), "secret") || strings.Contains(string(data), string(Of([]byte("secret")))) || strings.Contains(string(data), "other") || p.BeforeSize != 6 || !p.Redacted {
		t.Errorf("%s, %v", data, err)
	}
}

// What is kept in a store and in the record keeps its form: numbers that no double holds are texts.
func TestStableJSON(t *testing.T) {
	t.Parallel()
	s := Staged{
		Op: Create, Target: "d/e.txt", Inner: "e.txt", Name: StagedPrefix + "0123456789abcdef", File: Identity{1, 1<<63 + 1}, Folder: Identity{1, 2},
		Before: Absent, After: Of(nil), Attempt: 1,
	}
	data, err := json.Marshal(s)
	want := `{"op":"create","target":"d/e.txt","inner":"e.txt","name":".tsumugi-staged-0123456789abcdef","file":{"device":"1","inode":"9223372036854775809"},"folder":{"device":"1","inode":"2"},` +
		`"before":"absent","after":"` + string(Of(nil)) + `","attempt":1}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	var back Staged
	if err := json.Unmarshal(data, &back); err != nil || back != s || back.Top() != "d" {
		t.Errorf("%+v, %v", back, err)
	}
	o, err := json.Marshal(Outcome{Result: Stale, Now: Absent, Reason: "r"})
	if err != nil || string(o) != `{"result":"STALE_TARGET","now":"absent","reason":"r"}` {
		t.Errorf("%s, %v", o, err)
	}
}

// What is no text is refused, and where that begins is told.
func TestCheckText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\x00": "byte 1", "語\xff": "byte 3", "\ufffd\xe8": "byte 3", "ok\ufffd": "", "": ""} {
		if err := CheckText("x", []byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
