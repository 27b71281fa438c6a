package tokenizer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// vocabularies are small ones, trained on a text by testdata/reference.py: one for each split pattern and for each way to
// treat blanks.
func vocabularies(t testing.TB) map[string]*tokenizer.Tokenizer {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no vocabularies", err)
	}
	all := map[string]*tokenizer.Tokenizer{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if all[name], err = tokenizer.Open(path); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// installed names the folder in which the PyPI package tokenizers is; `make tokenizers` puts it there.
func installed() string { return os.Getenv("TSUMUGI_TOKENIZERS") }

// reference gives the ids that the PyPI package finds, a line of JSON for each text.
func reference(t *testing.T, name string, texts []string) []byte {
	t.Helper()
	var in, out, wrong bytes.Buffer
	for _, text := range texts {
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command("python3", "testdata/reference.py", "ids", filepath.Join("testdata", name+".json"))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+installed())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	return out.Bytes()
}

// TestReferenceTexts compares with ids that the reference found; -update with the package finds them again.
func TestReferenceTexts(t *testing.T) {
	t.Parallel()
	for name, ours := range vocabularies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if installed() != "" {
				testkit.Golden(t, "ids/"+name, reference(t, name, texts))
			}
			want, err := os.ReadFile("testdata/ids/" + name)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, ours, texts, want)
		})
	}
}

// TestReferenceRandom: 20,000 random texts for each of ten vocabularies, others for each.
func TestReferenceRandom(t *testing.T) {
	t.Parallel()
	if installed() == "" {
		t.Skip("TSUMUGI_TOKENIZERS names no folder with the PyPI package tokenizers; `make tokenizers` makes one and runs this")
	}
	for name, ours := range vocabularies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many := randomsFor(name, 20_000)
			compare(t, ours, many, reference(t, name, many))
			if !t.Failed() {
				t.Logf("compared %d", len(many))
			}
		})
	}
}

// compare checks ids, count and lengths of texts against ids in lines of JSON.
func compare(t *testing.T, ours *tokenizer.Tokenizer, texts []string, want []byte) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(want, []byte("\n")), []byte("\n"))
	if len(lines) != len(texts) {
		t.Fatalf("%d answers for %d texts", len(lines), len(texts))
	}
	wrong := 0
	for i, text := range texts {
		var ids []int32
		if err := json.Unmarshal(lines[i], &ids); err != nil {
			t.Fatal(err)
		}
		if got := ours.Append(nil, text, tokenizer.Prompt); !slices.Equal(got, ids) {
			t.Errorf("%q: got %v, want %v", text, got, ids)
			wrong++
		}
		checkLengths(t, ours, text, len(ids))
		if wrong > 5 {
			t.FailNow()
		}
	}
}

func checkLengths(t testing.TB, ours *tokenizer.Tokenizer, text string, count int) {
	t.Helper()
	lengths, sum := ours.Lengths(text, tokenizer.Prompt), 0
	for _, n := range lengths {
		if n < 0 {
			t.Fatalf("%q: lengths %v", text, lengths)
		}
		sum += n
	}
	if len(lengths) != count || ours.Count(text, tokenizer.Prompt) != count || sum != len(text) && count > 0 {
		t.Fatalf("%q of %d bytes: %d lengths, sum %d, count %d; want %d", text, len(text), len(lengths), sum, ours.Count(text, tokenizer.Prompt), count)
	}
}
