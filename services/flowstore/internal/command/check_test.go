package command

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// stored is a data folder that the engine wrote: three nodes in a flow. It is still open.
func stored(t *testing.T) (data string, s *files.Store) {
	t.Helper()
	data = t.TempDir()
	minute := 0
	s, err := files.Open(files.Options{Data: data, Clock: func() time.Time {
		minute++
		return time.Date(2026, 4, 1, 9, minute, 0, 0, time.UTC)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.Update(context.Background(), namespace.Default, func(tx store.Tx) error {
		f := flow.Flow{ID: id(9), Name: "夜明けの町", Created: tx.Now(), Updated: tx.Now(), Next: 4}
		for n := 1; n <= 3; n++ {
			if err := tx.CreateNode(node.Node{ID: id(n), Created: tx.Now(), Texts: []node.Text{{Role: "user", Content: "夜"}}}); err != nil {
				return err
			}
			f.Members = append(f.Members, flow.Member{Index: n, Node: id(n)})
		}
		f.Edges = []flow.Edge{{From: 1, To: 2}, {From: 2, To: 3}}
		return tx.CreateFlow(f)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Flush(context.Background(), namespace.Default); err != nil {
		t.Fatal(err)
	}
	return data, s
}

func id(n int) uuid.UUID { return uuid.UUID{15: byte(n), 6: 0x70, 8: 0x80} }

func inTree(data, name string) string {
	return filepath.Join(data, namespace.Default, filepath.FromSlash(name))
}

// damage does what check finds: something for a person, something for repair.
func damage(t *testing.T, data string) {
	t.Helper()
	write(t, inTree(data, "nodes/000/001.xml"), read(t, inTree(data, "nodes/000/001.xml"))[:100])
	write(t, inTree(data, "nodes/000/.007.xml.tmp"), "<node")
	write(t, inTree(data, "nodes/index.tsv"), read(t, inTree(data, "nodes/index.tsv"))+"000/009.xml\t0190")
}

func TestCheckWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	data, _ := stored(t)
	before := contents(t, data)
	code, out, trouble := run(t, "check", data)
	open := "default: flowstore is running, or was killed: changes that are not in text files yet were not looked at (start and stop it, and they are)\n"
	if want := "default: nodes: 3, flows: 1\n" + open + "nothing was found\n"; code != 0 || out != want || trouble != "" {
		t.Errorf("exit code %d, %q, %q", code, out, trouble)
	}
	if code, out, _ := run(t, "repair", data); code != 0 || out != open+"there is nothing to mend\n" {
		t.Errorf("exit code %d, %q", code, out)
	}
	if _, out, _ := run(t, "check", "--json", data); !strings.Contains(out, `"open": true`) {
		t.Error(out)
	}
	if diff := cmp.Diff(before, contents(t, data)); diff != "" {
		t.Errorf("check wrote: %s", diff)
	}
}

// contents gives what is in all files but local.db, which the service may be writing.
func contents(t *testing.T, data string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(data, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.Contains(name, "local.db") {
			all[name] = read(t, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCheckReports(t *testing.T) {
	t.Parallel()
	data, s := stored(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, data)
	if err := os.MkdirAll(filepath.Join(data, "My Novels", "nodes"), 0o700); err != nil {
		t.Fatal(err)
	}
	code, out, _ := run(t, "check", data)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	testkit.Golden(t, "check.txt", []byte(strings.ReplaceAll(out, data, "DATA")))

	code, out, _ = run(t, "check", "--json", "--namespace", "default", data)
	var got struct {
		Namespaces []struct {
			Namespace string
			Nodes     int
			Findings  []struct{ Path, Kind, Reason, Fix, By string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 1 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if n := got.Namespaces[0]; len(got.Namespaces) != 1 || n.Nodes != 3 || len(n.Findings) != 4 || n.Findings[0].Fix == "" || n.Findings[0].By != "person" {
		t.Errorf("%+v", got)
	}
}

// A namespace that the service does not open because of its config.yaml may have nothing else yet: check tells why, too.
func TestCheckOfAConfigAlone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(file string) error{
		"of another version": func(file string) error { return os.WriteFile(file, []byte("version: \"2.0\"\n"), 0o600) },
		"a folder":           func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			file := filepath.Join(data, "default", "config.yaml")
			if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), spoil(file)); err != nil {
				t.Fatal(err)
			}
			if code, out, trouble := run(t, "check", data); code != 1 || !strings.Contains(out, "    config.yaml: ") {
				t.Errorf("exit code %d, %q, %q", code, out, trouble)
			}
		})
	}
}

func TestCheckCannotLook(t *testing.T) {
	t.Parallel()
	data, _ := stored(t)
	empty := t.TempDir()
	for want, args := range map[string][]string{
		"no such file":           {"check", filepath.Join(empty, "nowhere")},
		"no data folder":         {"check", empty},
		"folder of a namespace":  {"check", filepath.Join(data, namespace.Default)},
		"the namespace other":    {"check", data, "--namespace", "other"},
		"cannot be a namespace":  {"repair", data, "--namespace", "../x"},
		"unknown flag: --bogus":  {"check", data, "--bogus"},
		"usage: flowstore check": {"check"},
		"no data folder of":      {"repair", "--apply", empty},
	} {
		if code, out, trouble := run(t, args...); code != 2 || !strings.Contains(trouble, want) || out != "" {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out, trouble)
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("it left %v in a folder that is not ours: %v", entries, err)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	data, s := stored(t)
	damage(t, data)
	if code, _, trouble := run(t, "repair", "--apply", data); code != 2 || !strings.Contains(trouble, "is in use by process") {
		t.Errorf("while the service runs: exit code %d, %q", code, trouble)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, data)
	code, out, _ := run(t, "repair", data)
	if !strings.Contains(out, "nodes/000/.007.xml.tmp: is moved away") || !strings.Contains(out, "nothing was changed") || code != 1 {
		t.Errorf("exit code %d, %q", code, out)
	}
	if diff := cmp.Diff(before, contents(t, data)); diff != "" {
		t.Errorf("the dry run wrote: %s", diff)
	}
	broken := read(t, inTree(data, "nodes/000/001.xml"))
	if code, out, trouble := run(t, "repair", "--apply", data); code != 1 || !strings.Contains(out, "findings: 2; all need a person") {
		t.Errorf("exit code %d, %q, %q", code, out, trouble)
	}
	if read(t, inTree(data, "nodes/000/001.xml")) != broken {
		t.Error("it touched a file that needs a person")
	}
	kept, err := filepath.Glob(inTree(data, ".flowstore/repair/*/nodes/000/.007.xml.tmp"))
	if err != nil || len(kept) != 1 {
		t.Errorf("what was moved away is at %q: %v", kept, err)
	}
	if code, out, _ := run(t, "repair", "--apply", data); code != 1 || strings.Contains(out, "mended") {
		t.Errorf("again: exit code %d, %q", code, out)
	}
	reopened, err := files.Open(files.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := reopened.Problems(context.Background(), namespace.Default); err != nil || len(problems) != 1 || reopened.Close() != nil {
		t.Errorf("the engine finds %v, %v", problems, err)
	}
}

// TestRepairWithPendingChanges: what was acknowledged for a file is not parted from it.
func TestRepairWithPendingChanges(t *testing.T) {
	t.Parallel()
	data, s := stored(t)
	never := files.Gate{Idle: time.Hour, MaxAge: time.Hour, MaxRecords: 1 << 20, MaxBytes: 1 << 40, Retry: time.Hour, Parallel: 1, Together: 1 << 20}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	running, err := files.Open(files.Options{Data: data, Gate: never})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	at := 1
	if err := running.Update(context.Background(), namespace.Default, func(tx store.Tx) error {
		return tx.ChangeFlow(id(9), flow.Change{At: tx.Now(), Current: &at})
	}); err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	damage(t, killed)
	before := contents(t, filepath.Join(killed, namespace.Default))
	code, _, trouble := run(t, "repair", "--apply", killed)
	if code != 2 || !strings.Contains(trouble, "1 acknowledged changes that are not in the files yet") {
		t.Errorf("exit code %d, %q", code, trouble)
	}
	if diff := cmp.Diff(before, contents(t, filepath.Join(killed, namespace.Default))); diff != "" {
		t.Errorf("it wrote: %s", diff)
	}
}
