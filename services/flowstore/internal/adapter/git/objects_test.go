package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stocked is a new repository that reads, and a function that puts contents into it.
func stocked(t *testing.T) (r *Repo, put func(text string) Version) {
	t.Helper()
	needGit(t)
	r = &Repo{dir: t.TempDir()}
	t.Cleanup(r.Close)
	if _, err := r.run(t.Context(), nil, "init", "-q"); err != nil {
		t.Fatal(err)
	}
	return r, func(text string) Version {
		hash, err := r.run(t.Context(), []byte(text), "hash-object", "-w", "--stdin")
		if err != nil {
			t.Fatal(err)
		}
		return Version{Mode: "100644", Hash: strings.TrimSpace(string(hash))}
	}
}

// commitOf makes a commit without files.
func commitOf(t *testing.T, r *Repo) string {
	t.Helper()
	tree, err := r.run(t.Context(), nil, "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.run(t.Context(), nil, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit-tree", "-m", "one", strings.TrimSpace(string(tree)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// One git gives all contents byte for byte, also those that came after its start.
func TestRead(t *testing.T) {
	t.Parallel()
	r, put := stocked(t)
	var first *objects
	for _, text := range []string{"", "\n", "a", "x missing\n", "\x00\xff\n\n", strings.Repeat("夜\r\n", 100_000), "a"} {
		if got, err := r.Read(t.Context(), put(text), int64(len(text))); err != nil || string(got) != text {
			t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
		}
		if first == nil {
			first = r.objects
		}
	}
	if got, err := r.Read(t.Context(), Version{}, 1); got != nil || err != nil {
		t.Errorf("no version: %q, %v", got, err)
	}
	if first == nil || r.objects != first {
		t.Error("more than one git was started")
	}
	if !r.has(t.Context(), commitOf(t, r)) || r.has(t.Context(), "MERGE_HEAD") || r.has(t.Context(), "refs/heads/夜") || r.objects != first {
		t.Error("which commits there are, or another git for that")
	}
	r.Close()
	if first.process.ProcessState == nil {
		t.Error("git is left running")
	}
}

// What cannot be read has an error that names the reason, and what comes next is read.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	r, put := stocked(t)
	text := strings.Repeat("long ", 100_000)
	large, broken := put(text), put("broken")
	file := filepath.Join(r.dir, ".git", "objects", broken.Hash[:2], broken.Hash[2:])
	if err := errors.Join(os.Remove(file), os.WriteFile(file, []byte("no object"), 0o600)); err != nil {
		t.Fatal(err)
	}
	tree, err := r.run(t.Context(), nil, "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ hash, want string }{
		"too large": {large.Hash, "it is too large: the limit is 499999 bytes"},
		"missing":   {strings.Repeat("0", 40), "0000: the repository does not have it"},
		"broken":    {broken.Hash, "git cat-file: error: "},
		"a tree":    {strings.TrimSpace(string(tree)), "git answered"},
	} {
		_, err := r.Read(t.Context(), Version{Mode: "100644", Hash: c.hash}, int64(len(text))-1)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrTooLarge) != (name == "too large") {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := r.Read(t.Context(), large, int64(len(text))); err != nil || string(got) != text {
			t.Errorf("behind %s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Who leaves gets their reason, before and behind a first content; another one is answered.
func TestReadIsCancelled(t *testing.T) {
	t.Parallel()
	r, put := stocked(t)
	v := put("text")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := r.Read(ctx, v, 4); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Read(ctx, v, 4); !errors.Is(err, context.Canceled) || r.objects != nil {
		t.Errorf("cancelled: %v", err)
	}
	if got, err := r.Read(t.Context(), v, 4); string(got) != "text" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
