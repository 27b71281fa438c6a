package workfolder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// Reads follow links that stay inside, tell where the file is, and give text or say why not.
func TestRead(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("sub/a.txt", "日本語\n")
	w.put("bin", "\x00")
	w.put("sjis.txt", "\x93\xfa")
	w.put("large", strings.Repeat("x", folder.MaxContent+1))
	w.put("empty", "")
	w.link("sub", "link")
	w.link("../sub/./a.txt", "sub/up.txt")
	for name, want := range map[string]string{"sub/a.txt": "sub/a.txt", "link/a.txt": "sub/a.txt", "link/up.txt": "sub/a.txt", "sub/up.txt": "sub/a.txt"} {
		c, err := w.Read(t.Context(), name, folder.ReadOptions{})
		if err != nil || string(c.Text) != "日本語\n" || c.Path != want || c.Hash != folder.Of(c.Text) || c.Mode != 0o644 || c.Modified == 0 {
			t.Errorf("%q: %+v, %v", name, c, err)
		}
	}
	if c, err := w.Read(t.Context(), "empty", folder.ReadOptions{}); err != nil || len(c.Text) != 0 || c.Hash != folder.Of(nil) {
		t.Errorf("%+v, %v", c, err)
	}
	for name, code := range map[string]folder.Code{
		"bin": folder.NotText, "sjis.txt": folder.NotText, "large": folder.TooLarge, "no": folder.Missing, "sub": folder.WrongType, ".": folder.WrongType, "bin/x": folder.WrongType,
	} {
		_, err := w.Read(t.Context(), name, folder.ReadOptions{})
		refused(t, err, code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Read(ctx, "sub/a.txt", folder.ReadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// field/review-agent.md S4: a file with other names is read only where the settings have a person asked, and the person has said yes.
func TestHardLinksAsk(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "shared")
	if err := os.Link(filepath.Join(w.dir, "a.txt"), filepath.Join(w.dir, "b.txt")); err != nil {
		t.Skip("this disk makes no hard links: ", err)
	}
	asks := w.open(Config{AskHardLinks: true})
	for _, c := range []struct {
		*Root
		allowed, ask, ok bool
	}{{w.Root, false, false, false}, {w.Root, true, false, false}, {asks, false, true, false}, {asks, true, false, true}} {
		got, err := c.Read(t.Context(), "a.txt", folder.ReadOptions{HardLinks: c.allowed})
		var refusal *folder.Refusal
		switch {
		case c.ok && (err != nil || string(got.Text) != "shared"):
			t.Errorf("%+v, %v", got, err)
		case !c.ok && (!errors.As(err, &refusal) || refusal.Code != folder.HardLink || refusal.Ask != c.ask):
			t.Errorf("%v", err)
		}
	}
	_, err := work{t, w.base, w.dir, w.outside, asks}.do(folder.Change{Op: folder.Write, Path: "a.txt"})
	refused(t, err, folder.HardLink)
}

// A list is sorted, in parts, and without what is protected or reserved; what no path can name is counted.
func TestList(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	for _, name := range []string{".git/config", ".env", "sub/.ENV.x", "sub/b.txt", "a.txt", ".hidden", folder.StagedPrefix + "x"} {
		w.put(name, "12345")
	}
	w.link("/outside/secret", "link")
	for _, name := range []string{"bad\nname", "bad\xff", `bad\name`} {
		w.put(name, "")
	}
	l, err := w.List(t.Context(), ".", "")
	names := func(l folder.Listing) (all []string) {
		for _, e := range l.Entries {
			all = append(all, fmt.Sprint(e.Name, " ", e.Kind, " ", e.Size, " ", e.Target))
		}
		return all
	}
	want := []string{".hidden file 5 ", "a.txt file 5 ", "link link 0 /outside/secret", "sub folder 0 "}
	if diff := cmp.Diff(want, names(l)); diff != "" || err != nil || l.Unnameable != 3 || l.More || l.Path != "." {
		t.Errorf("%+v, %v\n%s", l, err, diff)
	}
	if l, err = w.List(t.Context(), "./sub/", ""); err != nil || l.Path != "sub" || len(l.Entries) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	for n := range folder.MaxEntries + 1 {
		w.put(fmt.Sprintf("many/%05d", n), "")
	}
	all := 0
	for after, more := "", true; more; {
		l, err := w.List(t.Context(), "many", after)
		if err != nil || len(l.Entries) > folder.MaxEntries || len(l.Entries) == 0 {
			t.Fatalf("%d, %v", len(l.Entries), err)
		}
		all += len(l.Entries)
		after, more = l.Entries[len(l.Entries)-1].Name, l.More
	}
	if all != folder.MaxEntries+1 {
		t.Errorf("%d", all)
	}
	_, err = w.List(t.Context(), "a.txt", "")
	refused(t, err, folder.WrongType)
	_, err = w.List(t.Context(), "no", "")
	refused(t, err, folder.Missing)
	if e, err := w.Stat(t.Context(), "a.txt"); err != nil || e.Size != 5 || e.Kind != folder.KindFile || e.Mode != 0o644 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A search finds literal text, Japanese too and in either Unicode form, in the order of paths, and says what it did not search.
func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.put("a.txt", "first\nthe が is here が\r\nlast")
	w.put("b/c.txt", "decomposed か\u3099")
	w.put("b/d.md", "が")
	w.put("b/bin", "が\x00")
	w.put("b/İ.txt", "İİ Needle")
	w.put(".env", "が")
	w.put("large", strings.Repeat("が", folder.MaxContent/3+1))
	w.put("long", strings.Repeat("あ", 1000)+"needle"+strings.Repeat("い", 1000))
	w.link("a.txt", "link")
	find := func(q folder.Query) (all []string, f folder.Found) {
		t.Helper()
		if q.Under == "" {
			q.Under = "."
		}
		f, err := w.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range f.Matches {
			all = append(all, fmt.Sprintf("%s:%d:%d", m.Path, m.Line, m.Column))
		}
		return all, f
	}
	for _, c := range []struct {
		q    folder.Query
		want []string
	}{
		{folder.Query{Text: "が"}, []string{"a.txt:2:5", "b/c.txt:1:12", "b/d.md:1:1"}},
		{folder.Query{Text: "か\u3099", Under: "b"}, []string{"b/c.txt:1:12", "b/d.md:1:1"}},
		{folder.Query{Text: "が", Name: "*.md"}, []string{"b/d.md:1:1"}},
		{folder.Query{Text: "が", Under: "b/d.md"}, []string{"b/d.md:1:1"}},
		{folder.Query{Text: "が", Under: "link"}, []string{"a.txt:2:5"}},
		{folder.Query{Text: "needle"}, []string{"long:1:1001"}},
		{folder.Query{Text: "NEEDLE", AnyCase: true}, []string{"b/İ.txt:1:4", "long:1:1001"}},
		{folder.Query{Text: ".*"}, nil},
	} {
		if got, _ := find(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
	_, f := find(folder.Query{Text: "が"})
	if want := map[string]int{"too large": 1, "not text in UTF-8": 1, "links": 1}; !cmp.Equal(f.Skipped, want) || len(f.SkippedPaths) != 3 || f.Files != 6 || f.Cut != "" {
		t.Errorf("%+v", f)
	}
	if _, f = find(folder.Query{Text: "が", Most: 2}); len(f.Matches) != 2 || f.Cut == "" {
		t.Errorf("%+v", f)
	}
	_, f = find(folder.Query{Text: "needle"})
	if m := f.Matches[0]; !m.Cut || len(m.Text) > folder.MaxExcerpt || !strings.Contains(m.Text, "needle") || strings.Contains(m.Text, "\ufffd") {
		t.Errorf("%+v", m)
	}
	for _, q := range []folder.Query{{Text: "", Under: "."}, {Text: "a\nb", Under: "."}, {Text: "\xff", Under: "."}, {Text: "a", Under: ".", Name: "["}, {Text: "a", Under: "no"}, {Text: "a", Under: "../x"}} {
		if f, err := w.Search(t.Context(), q); err == nil {
			t.Errorf("%+v: %+v", q, f)
		}
	}
}

// A search ends at its bounds, and says so.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	text := strings.Repeat("x", folder.MaxContent)
	for n := range folder.MaxSearchedBytes/folder.MaxContent + 2 {
		w.put(fmt.Sprint(n), text)
	}
	f, err := w.Search(t.Context(), folder.Query{Text: "none", Under: "."})
	if err != nil || f.Bytes > folder.MaxSearchedBytes || !strings.Contains(f.Cut, "bytes") {
		t.Errorf("%d files, %d bytes, %q, %v", f.Files, f.Bytes, f.Cut, err)
	}
}

// field/review-agent.md S12: a root that holds what is this program's own, or lies in it, is refused, also through links and before it is there.
func TestRootApartFromOwn(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{"data/flows", "work/sub", "work2"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"to data": at("data"), "to work": at("work"), "work2/link": at("work")} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("work/sub/config.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, own string
		ok        bool
	}{
		{"work", "data", true}, {"work2", "work", true}, {"work", "work2", true}, {"work", "work_evil", true}, {"work", "workspace/config", true},
		{"data", "data", false}, {"data/flows", "data", false}, {".", "data", false}, {"to data", "data", false}, {"to data/flows", "data", false}, {"data", "to data", false},
		{"work", "work/sub/config.yaml", false}, {"work", "to work/sub/config.yaml", false}, {"work", "to work/not/there/yet", false}, {"work", "work/tokens", false},
		{"work/sub", "work/sub/config.yaml", false}, {"work2", "work2/link/x", true},
	} {
		r, err := Open(Config{Name: "w", Path: at(c.root)}, []string{"", at(c.own)})
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "apart") {
			t.Errorf("root %s, own %s: %v", c.root, c.own, err)
		}
		if err == nil {
			_ = r.Close()
		}
	}
	for _, path := range []string{"/", at("none"), at("work/sub/config.yaml")} {
		if r, err := Open(Config{Path: path}, nil); err == nil {
			t.Errorf("%s is a root", path)
			_ = r.Close()
		}
	}
	if _, err := Open(Config{Path: at("work"), Protected: []string{"["}}, nil); err == nil {
		t.Error("a pattern that is none")
	}
}
