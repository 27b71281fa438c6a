package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// run runs the command line and gives its exit code, output and error output.
func run(t *testing.T, args ...string) (code int, out, trouble string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trouble")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	code = Main(args, &b, f)
	return code, b.String(), read(t, name)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestInit(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	tree := filepath.Join(data, namespace.Default)
	code, out, trouble := run(t, "init", data)
	if code != 0 || !strings.Contains(out, gitConfig) || !strings.Contains(out, "made "+filepath.Join(tree, "config.yaml")) {
		t.Errorf("exit code %d, %q, %q", code, out, trouble)
	}
	made := map[string]string{}
	for _, name := range []string{"config.yaml", ".gitattributes", ".gitignore"} {
		made[name] = read(t, filepath.Join(tree, name))
	}
	for _, folder := range []string{"nodes", "flows"} {
		if info, err := os.Stat(filepath.Join(tree, folder)); err != nil || !info.IsDir() {
			t.Error(err)
		}
	}
	// The service takes the tree as its own, and a second init changes nothing.
	s, err := files.Open(files.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := s.Problems(t.Context(), namespace.Default); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if code, out, _ := run(t, "init", data); code != 0 || strings.Contains(out, "made ") || strings.Contains(out, "lacks") {
		t.Errorf("the second time: exit code %d, %q", code, out)
	}
	for name, text := range made {
		if read(t, filepath.Join(tree, name)) != text {
			t.Errorf("%s was changed", name)
		}
	}
}

// What a person has is theirs: it is told what it lacks, and stays.
func TestInitLeavesFilesAlone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	tree := filepath.Join(data, "alice")
	write(t, filepath.Join(tree, ".gitattributes"), strings.Replace(format.GitAttributes, "nodes/**/*.xml diff=tsumugi\n", "* -text\n", 1))
	before := read(t, filepath.Join(tree, ".gitattributes"))
	code, out, _ := run(t, "init", "--namespace", "alice", data)
	if code != 0 || !strings.Contains(out, "it lacks\n  nodes/**/*.xml diff=tsumugi\n") || strings.Contains(out, "merge=union") {
		t.Errorf("exit code %d, %q", code, out)
	}
	if read(t, filepath.Join(tree, ".gitattributes")) != before {
		t.Error(".gitattributes was changed")
	}
	for _, wrong := range []struct{ args, want []string }{
		{[]string{"init", "--namespace", "../x", data}, []string{"--namespace", `"../x"`}},
		{[]string{"init"}, []string{"accepts 1 arg"}},
	} {
		code, _, trouble := run(t, wrong.args...)
		for _, want := range wrong.want {
			if code != 1 || !strings.Contains(trouble, want) {
				t.Errorf("%q: exit code %d, %q", wrong.args, code, trouble)
			}
		}
	}
	write(t, filepath.Join(tree, "config.yaml"), "version: \"2.0\"\n")
	if code, _, trouble := run(t, "init", "--namespace", "alice", data); code != 1 || !strings.Contains(trouble, "newer program") {
		t.Errorf("a newer tree: exit code %d, %q", code, trouble)
	}
}

func TestTextconv(t *testing.T) {
	t.Parallel()
	testdata := filepath.Join("..", "store", "format", "testdata")
	for name, want := range map[string]string{
		"whole.xml":  "--- assistant, 8 tokens, 1.2 s ---\n返事はなかった。\n",
		"novel.yaml": "--- nodes ---\n1: ",
	} {
		code, out, trouble := run(t, "textconv", filepath.Join(testdata, name))
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, trouble)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "marks": "<<<<<<< ours\n<node>\n=======\n", "half": `<?xml version="1.0"?><node id="`, "bytes": "\xff\x00\r\n",
		"list": "- a\n- b\n", "deep": strings.Repeat("[", 20_000),
	} {
		file := filepath.Join(t.TempDir(), "000.xml")
		write(t, file, text)
		if code, out, trouble := run(t, "textconv", file); code != 0 || out != text {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, trouble)
		}
	}
	if code, _, trouble := run(t, "textconv", filepath.Join(testdata, "none")); code != 1 || !strings.Contains(trouble, "none") {
		t.Errorf("no file: exit code %d, %q", code, trouble)
	}
}

// A file over the limit goes through as it is.
func TestTextconvOfALargeFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "000.xml")
	write(t, file, strings.Repeat("x", format.MaxFile+2))
	if code, out, _ := run(t, "textconv", file); code != 0 || out != read(t, file) {
		t.Errorf("exit code %d, %d bytes", code, len(out))
	}
}

// Without a subcommand the flags are those of the service, as they were before there were subcommands.
func TestServeIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, serve := range [][]string{nil, {"serve"}} {
		if code, out, _ := run(t, append(serve, "--help")...); code != 0 || !strings.Contains(out, "listen: ") && !strings.Contains(out, "--listen") {
			t.Errorf("%q: exit code %d, %q", serve, code, out)
		}
		if code, out, _ := run(t, append(serve, "--version")...); code != 0 || !strings.HasPrefix(out, "flowstore ") {
			t.Errorf("%q: exit code %d, %q", serve, code, out)
		}
	}
	if _, out, _ := run(t, "--help"); !strings.Contains(out, "textconv") {
		t.Errorf("the subcommands are not listed: %q", out)
	}
	// Both fail at the address, so both tried to serve.
	for _, args := range [][]string{{"--listen", "0.0.0.0:0"}, {"--listen=0.0.0.0:0"}, {"serve", "--listen", "0.0.0.0:0"}} {
		if code, _, trouble := run(t, args...); code != 1 || !strings.Contains(trouble, "listen: ") {
			t.Errorf("%q: exit code %d, %q", args, code, trouble)
		}
	}
	for _, wrong := range [][]string{{"--no-such-setting", "1"}, {"frobnicate"}, {"serve", "frobnicate"}} {
		if code, _, trouble := run(t, wrong...); code != 1 || !strings.HasPrefix(trouble, "flowstore: ") {
			t.Errorf("%q: exit code %d, %q", wrong, code, trouble)
		}
	}
}
