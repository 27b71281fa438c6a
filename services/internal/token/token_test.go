package token

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func person(name, ns string, roles ...Role) Token {
	return Token{Name: name, Namespace: ns, Roles: roles, Created: noon}
}

// file is a new file with these tokens; shown is what their bearers show.
func file(t *testing.T, tokens ...Token) (path string, shown []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens.yaml")
	for _, one := range tokens {
		_, s, err := Add(path, one)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, s)
	}
	return path, shown
}

func follow(t *testing.T, path string) (*Store, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	s, err := Open(path, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	return s, logs
}

// What was made is known, with all that was said of it; nothing near it is, and no file, no log and no error has the secret.
func TestAddAndVerify(t *testing.T) {
	t.Parallel()
	in := Token{
		Name: "千夏 K.", Namespace: "team-a", Roles: []Role{User, Approver}, Created: noon,
		Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second), Session: "sessions/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41",
	}
	path, shown := file(t, in, person("b", "team-b", Admin))
	s, _ := follow(t, path)
	got, err := s.Verify(shown[0])
	if err != nil || !got.equal(in) || !got.Created.Equal(noon) || !got.Expires.Equal(in.Expires) || got.ID != ID(shown[0]) {
		t.Fatalf("%+v, %v", got, err)
	}
	text, _ := os.ReadFile(path)
	for _, one := range shown {
		if secret := one[strings.LastIndex(one, "_")+1:]; len(secret) != 64 || strings.Contains(string(text), secret) {
			t.Errorf("the file holds a secret of %d digits", len(secret))
		}
	}
	if runtime.GOOS != "windows" {
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	swapped := shown[0][:strings.LastIndex(shown[0], "_")] + shown[1][strings.LastIndex(shown[1], "_"):]
	for _, wrong := range []string{
		"", "x", swapped, shown[0][:len(shown[0])-1], shown[0] + "0", " " + shown[0], shown[0] + "\n", strings.ToUpper(shown[0]), "Bearer " + shown[0],
		strings.Replace(shown[0], got.ID, "nobody", 1), shown[0][:len(shown[0])-1] + "g", shown[0] + strings.Repeat("0", 1<<20),
	} {
		if _, err := s.Verify(wrong); err == nil || strings.Contains(err.Error(), shown[0][24:]) {
			t.Errorf("%.30q: %v", wrong, err)
		}
	}
}

// A secret of one token never opens another one, whatever bit is changed.
func TestOneBitIsAnotherToken(t *testing.T) {
	t.Parallel()
	path, shown := file(t, person("a", "a", User))
	s, _ := follow(t, path)
	rapid.Check(t, func(r *rapid.T) {
		b := []byte(shown[0])
		i := rapid.IntRange(0, len(b)-1).Draw(r, "at")
		b[i] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
		if _, err := s.Verify(string(b)); err == nil {
			r.Fatalf("%d", i)
		}
	})
}

// An id that is not known costs what a known one costs: one digest and one comparison in constant time stand on the only
// way through, and nothing that compares otherwise. Times are not measured: a busy machine would decide.
func TestTheComparisonIsOnTheOnlyWay(t *testing.T) { // not parallel: it changes the decoy
	parsed, err := parser.ParseFile(token.NewFileSet(), "token.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var match *ast.FuncDecl
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "match" {
			match = f
		}
	}
	returns, unconditional := 0, map[string]int{}
	calls := func(n ast.Node, found map[string]int) {
		ast.Inspect(n, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				switch f := c.Fun.(type) {
				case *ast.Ident:
					found[f.Name]++
				case *ast.SelectorExpr:
					found[f.Sel.Name]++
				}
			}
			return true
		})
	}
	for _, s := range match.Body.List {
		if _, branch := s.(*ast.IfStmt); branch {
			inside := map[string]int{}
			if calls(s, inside); len(inside) > 0 {
				t.Errorf("a branch calls %v", inside)
			}
		} else {
			calls(s, unconditional)
		}
	}
	ast.Inspect(match, func(n ast.Node) bool {
		if _, ok := n.(*ast.ReturnStmt); ok {
			returns++
		}
		return true
	})
	if returns != 1 || len(unconditional) != 2 || unconditional["digest"] != 1 || unconditional["ConstantTimeCompare"] != 1 {
		t.Errorf("%d ways out, calls %v", returns, unconditional)
	}
	// What the decoy is compared with lets nobody in, even were its secret known.
	known := Token{}
	shown := Mint(&known)
	before := decoy
	defer func() { decoy = before }()
	decoy = known
	_, secret, _ := split(shown)
	if _, ok := (set{}).match(known.ID, secret); ok {
		t.Error("the decoy is a token")
	}
}

// Everything that is wrong is told at once, with its line.
func TestProblemsOfAFile(t *testing.T) {
	t.Parallel()
	hash, salt := strings.Repeat("ab", 32), strings.Repeat("cd", 16)
	rest := "salt: " + salt + ", hash: " + hash + ", created: 2026-01-01T00:00:00Z"
	_, err := Parse([]byte(`tokens:
  - {id: good1, name: a, namespace: team-a, roles: [user], ` + rest + `}
  - {id: good1, name: b, namespace: team-a, roles: [user], ` + rest + `}
  - {id: X, name: "a` + "\u202e" + `b", namespace: ../x, roles: [], ` + rest + `}
  - {id: bad22, name: a, namespace: nul, roles: [user, owner, user], salt: 12, hash: zz, created: yesterday, expires: soon}
  - {id: bad33, name: a, namespace: a, roles: [service, user], session: x, ` + rest + `}
  - {id: bad44, name: a, namespace: a, roles: [service], ` + rest + `}
  - {id: bad55, nam: a, roles: user}
  - {name: a, namespace: a, roles: [user]}
`))
	if err == nil {
		t.Fatal("accepted")
	}
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		"line 3: tokens[1].id: stands here twice, also in line 2",
		"line 4: tokens[2].id: must be 4 to 32", "line 4: tokens[2].name: must be 1 to 64", "line 4: tokens[2].namespace: must be 1 to 63", "line 4: tokens[2].roles: must name at least one",
		"line 5: tokens[3].namespace: ", `line 5: tokens[3].roles: "owner" is none of user, approver, admin, service`, "line 5: tokens[3].roles: has user twice",
		"line 5: tokens[3].salt: must be 32", "line 5: tokens[3].hash: must be 64", "line 5: tokens[3].created: must be a time", "line 5: tokens[3].expires: must be a time",
		"line 6: tokens[4].roles: must be service alone", "line 6: tokens[4].session: must be sessions/",
		"line 7: tokens[5].namespace: must be left out",
		"line 8: tokens[6].nam: unknown key; did you mean name?", "line 8: tokens[6].roles: must be a list",
		"line 9: tokens[7].id: ", "line 9: tokens[7].salt: ", "line 9: tokens[7].hash: ", "line 9: tokens[7].created: ",
	} {
		found := false
		for i, line := range got {
			if found = strings.HasPrefix(line, want); found {
				got = append(got[:i], got[i+1:]...)
				break
			}
		}
		if !found {
			t.Errorf("not told: %s", want)
		}
	}
	if len(got) > 0 {
		t.Errorf("told beside it:\n%s", strings.Join(got, "\n"))
	}
	for _, text := range []string{"token: []", "tokens: []\ntokens: []", "tokens: {a: b}", "- a", "tokens: &a [*a]"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// What is revoked, added or changed holds from the next look on, without a restart.
func TestChangesHoldAtOnce(t *testing.T) {
	t.Parallel()
	path, shown := file(t, person("a", "team-a", User), person("b", "team-b", User))
	s, logs := follow(t, path)
	a, err := s.Verify(shown[0])
	if err != nil || !s.Still(a) {
		t.Fatal(err)
	}
	if _, err := Revoke(path, a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Verify(shown[0]); err != ErrUnknown || s.Still(a) { //nolint:errorlint // it is that very value
		t.Errorf("a revoked token: %v, still %v", err, s.Still(a))
	}
	if _, err := Revoke(path, a.ID); err == nil || strings.Contains(err.Error(), a.ID) {
		t.Errorf("revoked twice: %v", err)
	}
	_, c, err := Add(path, person("c", "team-c", User))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{c, shown[1]} {
		if _, err := s.Verify(one); err != nil {
			t.Error(err)
		}
	}
	b, _ := s.Verify(shown[1])
	text, _ := os.ReadFile(path)
	replace(t, path, strings.Replace(string(text), "team-b", "team-x", 1))
	if s.Still(b) {
		t.Error("a token whose namespace was changed acts on in the old one")
	}
	if logs.FilterMessage("the tokens were read again").Len() == 0 {
		t.Error("no line in the log")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// replace does what editors do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// A file that broke, or went away, leaves the tokens of before, and is told in the log, once, and in /readyz.
func TestABrokenFileKeepsTheTokens(t *testing.T) {
	t.Parallel()
	path, shown := file(t, person("a", "team-a", User))
	s, logs := follow(t, path)
	good, _ := os.ReadFile(path)
	if c := s.Ready(t.Context()); !c.OK {
		t.Errorf("%+v", c)
	}
	for name, breaks := range map[string]func(){
		"not YAML": func() { replace(t, path, "tokens: [") },
		"bad role": func() { replace(t, path, strings.Replace(string(good), "[user]", "[king]", 1)) },
		"gone":     func() { must(t, os.Remove(path)) },
		"a folder": func() { must(t, os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		logs.TakeAll()
		breaks()
		for range 3 {
			if _, err := s.Verify(shown[0]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if c := s.Ready(t.Context()); c.OK || c.Fatal || !strings.Contains(c.Message, path) {
			t.Errorf("%s: %+v", name, c)
		}
		if n := logs.FilterLevelExact(zap.ErrorLevel).Len(); n != 1 {
			t.Errorf("%s: %d lines", name, n)
		}
		must(t, os.RemoveAll(path))
		replace(t, path, string(good))
		if _, err := s.Verify(shown[0]); err != nil || !s.Ready(t.Context()).OK {
			t.Errorf("%s, mended: %v, %+v", name, err, s.Ready(t.Context()))
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), zap.NewNop()); err == nil {
		t.Error("a file that is not there was opened")
	}
	if _, _, err := Add(path, person("", "../x", "king")); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("a bad token: %v", err)
	}
	replace(t, path, "tokens: [")
	if _, _, err := Add(path, person("a", "a", User)); err == nil {
		t.Error("a broken file was written over")
	}
}

// Who can write the file can let anybody in; who can read it learns names.
func TestModesOfTheFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	path, shown := file(t, person("a", "team-a", User))
	s, logs := follow(t, path)
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true} {
		must(t, os.Chmod(path, mode))
		if c := s.Ready(t.Context()); c.OK != ok {
			t.Errorf("%o: %+v", mode, c)
		}
	}
	must(t, os.Chmod(path, 0o644))
	if c := s.Ready(t.Context()); c.OK || logs.FilterLevelExact(zap.WarnLevel).Len() != 1 {
		t.Errorf("readable by all: %+v", c)
	}
	must(t, os.Chmod(path, 0o622))
	if _, err := Open(path, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("writable by all: %v", err)
	}
	if _, err := s.Verify(shown[0]); err != nil {
		t.Errorf("the tokens of before: %v", err)
	}
}

// A time that is over is over, also in the middle of a stream; it is told to who has the right secret alone.
func TestExpiry(t *testing.T) {
	t.Parallel()
	one := person("a", "team-a", User)
	one.Expires = noon.Add(time.Hour)
	path, shown := file(t, one)
	s, _ := follow(t, path)
	now := noon
	s.now = func() time.Time { return now }
	got, err := s.Verify(shown[0])
	if err != nil || !s.Still(got) {
		t.Fatal(err)
	}
	now = one.Expires
	if _, err := s.Verify(shown[0]); err == nil || !strings.Contains(err.Error(), "since 2026-11-29T13:00:00Z") || s.Still(got) {
		t.Errorf("%v", err)
	}
	if _, err := s.Verify(shown[0][:len(shown[0])-1] + "x"); err != ErrForm { //nolint:errorlint // that very value
		t.Errorf("%v", err)
	}
	one.Expires = noon
	if _, _, err := Add(path, one); err == nil {
		t.Error("a token was made that never holds")
	}
}

// Two that write at once both arrive.
func TestAddsAtOnce(t *testing.T) {
	t.Parallel()
	path, _ := file(t, person("first", "a", User))
	s, _ := follow(t, path)
	var all sync.WaitGroup
	shown := make([]string, 12)
	for i := range shown {
		all.Go(func() {
			var err error
			if _, shown[i], err = Add(path, person("p", "a", User)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, one := range shown {
		if _, err := s.Verify(one); err != nil {
			t.Errorf("%v", err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp"))
	if tokens, err := Read(path); err != nil || len(tokens) != 13 || len(left) != 0 {
		t.Errorf("%d tokens, %v, left %v", len(tokens), err, left)
	}
}

// Behind a symbolic link the file is changed and the link stays.
func TestALinkStays(t *testing.T) {
	t.Parallel()
	path, _ := file(t, person("a", "a", User))
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if _, _, err := Add(link, person("b", "a", User)); err != nil {
		t.Fatal(err)
	}
	if tokens, err := Read(path); err != nil || len(tokens) != 2 {
		t.Errorf("%d, %v", len(tokens), err)
	}
}

func TestReadSecret(t *testing.T) {
	t.Parallel()
	var one Token
	shown := Mint(&one)
	path := filepath.Join(t.TempDir(), "secret")
	for text, ok := range map[string]bool{shown: true, "\n " + shown + " \n": true, "": false, "x": false, shown + shown: false, "Bearer " + shown: false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(path)
		if (err == nil) != ok || ok && got != shown || err != nil && strings.Contains(err.Error(), shown[len(shown)-20:]) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

// What the file is made of is read without a panic, and what is accepted is written and read the same.
func FuzzParse(f *testing.F) {
	var one Token
	Mint(&one)
	one.Name, one.Namespace, one.Roles, one.Created = "a", "team-a", []Role{User}, noon
	text, err := format([]Token{one})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("tokens:\n  - {id: bad55, nam: a, roles: user}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Parse(text)
		if err != nil {
			return
		}
		written, err := format(all)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(written); err != nil || len(again) != len(all) {
			t.Fatalf("%v: %s", err, written)
		}
	})
}

// What a call pays for being known: a question to the system whether the file is another one, a digest, a comparison.
func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "tokens.yaml")
	_, shown, err := Add(path, person("a", "team-a", User))
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(path, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Verify(shown); err != nil {
			b.Fatal(err)
		}
	}
}
