package folder

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// What a path becomes, and what is refused of it. field/agent.md C9, C10: not by the beginning of a text, at any depth, in any case.
func TestClean(t *testing.T) {
	t.Parallel()
	extra, err := NewRules([]string{"*.PEM", "secrets"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		raw  string
		use  Use
		want string
		code Code
	}{
		{"a.txt", Alter, "a.txt", ""},
		{"./a//b/./c/", Alter, "a/b/c", ""},
		{".", Read, ".", ""}, {"./", Read, ".", ""},
		{".", Alter, "", BadPath}, {"./", New, "", BadPath},
		{"work_evil/..", Read, "", BadPath}, {"a/..", Read, "", BadPath}, {"..", Read, "", BadPath}, {"a/../b", Read, "", BadPath},
		{"..a", New, "..a", ""}, {"...", Read, "...", ""}, {"a...b", New, "a...b", ""},
		{"/a", Read, "", BadPath}, {"//a", Read, "", BadPath}, {"~/a", Read, "", BadPath}, {"~a", New, "~a", ""}, {"C:a", Read, "", BadPath},
		{"2026-01-01T10:00.txt", New, "2026-01-01T10:00.txt", ""},
		{`a\b`, Read, "", BadPath}, {"a\x00", Read, "", BadPath}, {"a\tb", Read, "", BadPath}, {"a\u2028b", Read, "", BadPath}, {"\xff", Read, "", BadPath}, {"", Read, "", BadPath},
		{"日本語/メモ　一.txt", New, "日本語/メモ　一.txt", ""},
		{"か\u3099.txt", New, "", BadPath}, {"か\u3099.txt", Alter, "か\u3099.txt", ""}, {"か\u3099/a.txt", New, "か\u3099/a.txt", ""},
		{"a\u202etxt", New, "", BadPath}, {"a\u202etxt", Alter, "", BadPath}, {"a\u202etxt", Read, "a\u202etxt", ""},
		{"a\u200b", New, "", BadPath}, {"a\ufe0f", New, "", BadPath}, {"a\u3164", New, "", BadPath}, {"a\U000e0041", New, "", BadPath}, {"a\ufeff", New, "", BadPath},
		{"a.", New, "", BadPath}, {"a ", New, "", BadPath}, {" a", New, "", BadPath}, {"a./b", Alter, "", BadPath}, {"a.", Read, "a.", ""},
		{".gitignore", New, ".gitignore", ""}, {".github/x", New, ".github/x", ""}, {"a.git", New, "a.git", ""}, {"git", New, "git", ""}, {"env", New, "env", ""},
		{".git", Read, "", Protected}, {"a/b/.GiT/c", New, "", Protected}, {".git.", Read, "", Protected}, {".git ", Read, "", Protected}, {".git::$DATA", Read, "", Protected},
		{"GIT~1", Read, "", Protected}, {".g\u200cit", Read, "", Protected}, {"．git", Read, "", Protected}, {".ſsh", Read, "", Protected}, {".SSH/id", Read, "", Protected},
		{".env", Read, "", Protected}, {".ENV.local", Read, "", Protected}, {".envrc", Read, "", Protected}, {"ENVRC~1", Read, "", Protected},
		{"key.pem", Read, "", Protected}, {"a/KEY.Pem", New, "", Protected}, {"Secrets/x", Read, "", Protected}, {"secrets2", Read, "secrets2", ""},
		{StagedPrefix + "1", Read, "", Reserved}, {"a/" + strings.ToUpper(StagedPrefix) + "x/b", Read, "", Reserved},
		{strings.Repeat("a", MaxName), New, strings.Repeat("a", MaxName), ""}, {strings.Repeat("a", MaxName+1), Read, "", BadPath},
		{strings.Repeat("a/", MaxDepth-1) + "a", New, strings.Repeat("a/", MaxDepth-1) + "a", ""}, {strings.Repeat("a/", MaxDepth) + "a", Read, "", BadPath},
		{strings.Repeat("a/", MaxPath/2) + "a", Read, "", BadPath},
	} {
		got, err := extra.Clean(c.raw, c.use)
		var refusal *Refusal
		switch {
		case c.code == "" && (err != nil || got != c.want):
			t.Errorf("%q for %d: %q, %v; want %q", c.raw, c.use, got, err, c.want)
		case c.code != "" && (!errors.As(err, &refusal) || refusal.Code != c.code || got != ""):
			t.Errorf("%q for %d: %q, %v; want %s", c.raw, c.use, got, err, c.code)
		}
	}
	for _, wrong := range []string{"", "a/b", "[", "[a"} {
		if _, err := NewRules([]string{"ok", wrong}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", wrong)) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Whatever is written as a path: what comes back has no way up, no protected name, comes back unchanged, and is taken by the laxer uses too;
// a refusal is a sentence without what cannot be seen.
func TestCleanProperties(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{"a", "..", ".", "", "/", "//", ".git", ".GIT", ".env", ".ssh", "\u200b", "\u202e", "\ufe0f", "\u3164", "が", "か\u3099", "\\", "\x00", "~", " ", "\xff", ":", "．", strings.Repeat("n", 200)})
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOfN(rapid.OneOf(parts, rapid.String()), 1, 12).Draw(t, "parts"), rapid.SampledFrom([]string{"", "/"}).Draw(t, "between"))
		use := rapid.SampledFrom([]Use{Alter, New, Read}).Draw(t, "use")
		var rules Rules
		got, err := rules.Clean(raw, use)
		if err != nil {
			var refusal *Refusal
			if !errors.As(err, &refusal) || refusal.Reason == "" || refusal.Code == "" {
				t.Fatalf("%q: %v", raw, err)
			}
			for _, r := range err.Error() {
				if passage.Invisible(r) {
					t.Fatalf("%q has %U", err, r)
				}
			}
			return
		}
		for name := range strings.SplitSeq(got, "/") {
			if name == ".." || name == "" || name == "." && got != "." || rules.Name(name) != nil {
				t.Fatalf("%q became %q", raw, got)
			}
		}
		if again, err := rules.Clean(got, use); again != got || err != nil {
			t.Fatalf("%q became %q, and that %q, %v", raw, got, again, err)
		}
		if again, err := rules.Clean(got, Alter); use == New && (again != got || err != nil) {
			t.Fatalf("%q may be new, and not there: %v", got, err)
		}
		if again, err := rules.Clean(got, Read); again != got || err != nil {
			t.Fatalf("%q may be written, and not read: %v", got, err)
		}
		if use == New && !norm.NFC.IsNormalString(got[strings.LastIndexByte(got, '/')+1:]) {
			t.Fatalf("%q is not composed", got)
		}
	})
}

// What is shown of a path is bounded and in quotes, with what cannot be seen escaped.
func TestShow(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a b": `"a b"`, "日本語": `"日本語"`, "a\u202eb": `"a\u202eb"`, "a\x1b[31m": `"a\x1b[31m"`, "\xff": `"\xff"`, "a\ufe0f\u3164": `"a\U0000fe0f\U00003164"`, `"`: `"\""`,
	} {
		if got := Show(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	long := Show(strings.Repeat("語", 1000))
	if len(long) > maxShown+10 || !strings.HasSuffix(long, "…") || !utf8.ValidString(long) || strings.Contains(long, `\x`) {
		t.Errorf("%s", long)
	}
}

type fakeRoot struct {
	Root
	about About
}

func (r fakeRoot) About() About { return r.about }

// A path that begins with the mount of a root, as the prompt names skills, is in that root, with a boundary; everything else that begins with /
// is refused.
func TestMounts(t *testing.T) {
	t.Parallel()
	m := Mounts{Work: fakeRoot{about: About{Name: "work"}}}
	for _, mount := range []string{"/skills", "/skills/own/", "/"} {
		m.Others = append(m.Others, fakeRoot{about: About{Name: mount, Mount: mount}})
	}
	for raw, want := range map[string]string{
		"a/b": "work a/b", "skills/x": "work skills/x", "./skills": "work ./skills",
		"/skills/good/SKILL.md": "/skills good/SKILL.md", "/skills": "/skills .", "/skills/": "/skills .", "/skills/own/x": "/skills/own/ x", "/skills/owner": "/skills owner",
		"/skills/../etc": "/skills ../etc", "/skills//etc/passwd": "/skills etc/passwd",
		"/skills2/x": "", "/etc/passwd": "", "/": "", "//skills/x": "",
	} {
		root, rest, err := m.Find(raw)
		got := ""
		if err == nil {
			got = root.About().Name + " " + rest
		}
		if got != want {
			t.Errorf("%q: %q, %v; want %q", raw, got, err, want)
		}
	}
	if _, _, err := (Mounts{}).Find("a"); err == nil {
		t.Error("no work folder")
	}
}
