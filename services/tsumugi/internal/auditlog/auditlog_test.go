package auditlog

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/agenttest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// What happened is told row by row, verifies, makes the session again, and is exported so that it verifies without the service, also when the session
// is deleted; a changed file does not.
func TestAudit(t *testing.T) {
	t.Parallel()
	d := agenttest.Start(t)
	name := d.Session("notes")
	d.Asked(name)
	if _, err := d.Agent.CancelTurn(t.Context(), &agentv1.CancelTurnRequest{Session: name, Turn: d.Rests(name).GetTurn().GetId()}); err != nil {
		t.Fatal(err)
	}
	d.Rests(name)
	if _, err := d.Agent.DeleteSession(t.Context(), &agentv1.DeleteSessionRequest{Name: name}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := Options{Addr: d.Addr, Name: name, Out: &out}
	file, keys := d.Path("audit.jsonl"), d.Path("data/agent/audit-keys.yaml")
	for _, run := range []func() error{
		func() error { return Tell(t.Context(), o) },
		func() error { return Verify(t.Context(), o, true) },
		func() error { return Export(t.Context(), o, file) },
		func() error { return Check(o, file, keys) },
	} {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"     1  2", "Z  person local  create CREATED: ", "model model  ask ASK: ", "  [absent → ", "person local  delete DELETED: ",
		name + ": rows as they were made: ", "The session that they make is the one that is stored.\n", file + " has the rows of " + name + " up to ",
		name + " (namespace default): rows as they were made: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(o, d.File("bad.jsonl", strings.Replace(string(text), `"person"`, `"system"`, 1)), keys); err == nil || !strings.Contains(err.Error(), "bad.jsonl: row 1 of the audit record: its code does not fit") {
		t.Errorf("a changed row: %v", err)
	}
	if err := Check(o, d.File("text.jsonl", "seq 1\n"), keys); err == nil || !strings.HasSuffix(err.Error(), `text.jsonl: line 1 must be the head with which an export of an audit begins, {"tsumugi_audit":1,…}, and is no JSON: it begins with "seq 1"`) {
		t.Errorf("no export: %v", err)
	}
	out.Reset()
	o.After = 2
	if err := Tell(t.Context(), o); err != nil || !strings.HasPrefix(out.String(), "     3  ") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// A file that cannot be written whole is not there.
func TestExportIsWhole(t *testing.T) {
	t.Parallel()
	d := agenttest.Start(t)
	name := d.Session("notes")
	o := Options{Addr: d.Addr, Name: name, Out: &bytes.Buffer{}}
	if err := Export(t.Context(), o, d.Path("no folder/audit.jsonl")); err == nil {
		t.Error("it was written into a folder that is not there")
	}
	if err := Check(o, d.Path("no file"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	o.Name = "sessions/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"
	if err := Export(t.Context(), o, d.Path("audit.jsonl")); err == nil || !strings.Contains(err.Error(), "there is no session") {
		t.Error(err)
	}
	if left, err := os.ReadDir(d.Dir); err != nil || strings.Contains(left[0].Name(), "audit") {
		t.Errorf("%v, %v", left, err)
	}
}

// Of rows that are not as they were made nothing reassuring is said beside it, also where the session that they make is the stored one.
func TestVerifyOfAChangedRow(t *testing.T) {
	t.Parallel()
	d := agenttest.Start(t)
	name := d.Session("notes")
	d.Alter("UPDATE records SET body = CAST(replace(CAST(body AS TEXT), 'CREATED', 'CHANGED') AS BLOB)")
	var out bytes.Buffer
	err := Verify(t.Context(), Options{Addr: d.Addr, Name: name, Out: &out}, true)
	if !errors.Is(err, ErrBroken) || !strings.HasPrefix(out.String(), name+": row 1 of the audit record: ") || strings.Contains(out.String(), "The session that they make") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// Rows that cannot be read are told in their place, and nothing is exported without them.
func TestBrokenRows(t *testing.T) {
	t.Parallel()
	d := agenttest.Start(t)
	name := d.Session("notes")
	for _, why := range []string{"one", "two"} {
		if _, err := d.Agent.UpdateSession(t.Context(), &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: name, WhyNow: why}}); err != nil {
			t.Fatal(err)
		}
	}
	d.Alter("UPDATE records SET body = x'00' WHERE seq = 2")
	var out bytes.Buffer
	o := Options{Addr: d.Addr, Name: name, Out: &out, Err: &out}
	if err := Tell(t.Context(), o); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "     1  ") || !strings.HasPrefix(lines[1], "! rows 2 to 2: the record of row 2 ") || !strings.HasPrefix(lines[2], "     3  ") {
		t.Errorf("%q", lines)
	}
	if err := Export(t.Context(), o, d.Path("audit.jsonl")); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
	if _, err := os.Stat(d.Path("audit.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without them: %v", err)
	}
}

// Of a session that cannot be read its rows are verified, and nothing is exported of which nobody knows the end.
func TestABrokenSession(t *testing.T) {
	t.Parallel()
	d := agenttest.Start(t)
	name := d.Session("notes")
	d.Alter("UPDATE sessions SET body = CAST(replace(CAST(body AS TEXT), '{', '[') AS BLOB)")
	for what, run := range map[string]func(o Options) error{
		"verify": func(o Options) error { return Verify(t.Context(), o, false) },
		"replay": func(o Options) error { return Verify(t.Context(), o, true) },
		"export": func(o Options) error { return Export(t.Context(), o, d.Path("audit.jsonl")) },
	} {
		var out bytes.Buffer
		err := run(Options{Addr: d.Addr, Name: name, Out: &out})
		if text := out.String(); !errors.Is(err, ErrBroken) || !strings.HasPrefix(text, name+": the record of session ") || !strings.Contains(text, "its rows are as they were made, 1 of them") {
			t.Errorf("%s: %v: %s", what, err, text)
		}
	}
	if _, err := os.Stat(d.Path("audit.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without an end: %v", err)
	}
}
