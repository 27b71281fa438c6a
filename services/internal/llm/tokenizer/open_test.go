package tokenizer_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

// write puts a file into a folder of the test.
func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpenRefuses: what is not known is refused by its name and never guessed.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(file map[string]any)
		want   string
	}{
		"other model":       {func(f map[string]any) { f["model"] = map[string]any{"type": "Unigram"} }, "Unigram"},
		"unknown pattern":   {func(f map[string]any) { split(f)["pattern"] = map[string]any{"Regex": `\d+|\D+`} }, `\d+|\D+`},
		"inverted pattern":  {func(f map[string]any) { split(f)["invert"] = true }, "Split, ByteLevel"},
		"no pre-tokenizer":  {func(f map[string]any) { f["pre_tokenizer"] = nil }, "pre_tokenizer"},
		"normalizer":        {func(f map[string]any) { f["normalizer"] = map[string]any{"type": "NFKC"} }, "NFKC"},
		"post-processor":    {func(f map[string]any) { f["post_processor"] = map[string]any{"type": "BertProcessing"} }, "BertProcessing"},
		"dropout":           {func(f map[string]any) { model(f)["dropout"] = 0.1 }, "dropout"},
		"suffix":            {func(f map[string]any) { model(f)["end_of_word_suffix"] = "</w>" }, "end_of_word_suffix"},
		"merge of nothing":  {func(f map[string]any) { model(f)["merges"] = []any{"q zz"} }, "merge 0"},
		"merge of three":    {func(f map[string]any) { model(f)["merges"] = []any{"a b c"} }, "a b c"},
		"id out of reach":   {func(f map[string]any) { model(f)["vocab"].(map[string]any)["x"] = 1 << 30 }, "1073741824"},
		"token too long":    {func(f map[string]any) { model(f)["vocab"].(map[string]any)[strings.Repeat("x", 2000)] = 950 }, "2000 bytes"},
		"not written bytes": {func(f map[string]any) { model(f)["vocab"].(map[string]any)["あ"] = 950 }, "あ"},
		"two of one id":     {func(f map[string]any) { model(f)["vocab"].(map[string]any)["zzz"] = 899 }, "id 899"},
		"single word":       {func(f map[string]any) { f["added_tokens"].([]any)[0].(map[string]any)["single_word"] = true }, "single_word"},
		"no tokens":         {func(f map[string]any) { f["model"], f["added_tokens"] = map[string]any{"type": "BPE"}, nil }, "no tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile("testdata/qwen2.json")
			if err != nil {
				t.Fatal(err)
			}
			var file map[string]any
			if err := json.Unmarshal(data, &file); err != nil {
				t.Fatal(err)
			}
			tt.change(file)
			if data, err = json.Marshal(file); err != nil {
				t.Fatal(err)
			}
			path := write(t, "tokenizer.json", data)
			if _, err := tokenizer.Open(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v; want the file's name and %q", err, tt.want)
			}
		})
	}
}

func model(file map[string]any) map[string]any { return file["model"].(map[string]any) }

func split(file map[string]any) map[string]any {
	return file["pre_tokenizer"].(map[string]any)["pretokenizers"].([]any)[0].(map[string]any)
}

// entry is one of the head of a .gguf file.
type entry struct {
	key   string
	value any
}

// gguf writes the head of a .gguf file.
func gguf(entries ...entry) []byte {
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // a buffer never fails
	text := func(s string) { put(uint64(len(s))); b.WriteString(s) }
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(0))
	put(uint64(len(entries)))
	for _, e := range entries {
		text(e.key)
		switch v := e.value.(type) {
		case string:
			put(uint32(8))
			text(v)
		case uint32:
			put(uint32(4))
			put(v)
		case []string:
			put(uint32(9))
			put(uint32(8))
			put(uint64(len(v)))
			for _, s := range v {
				text(s)
			}
		case []int32:
			put(uint32(9))
			put(uint32(5))
			put(uint64(len(v)))
			put(v)
		case []float32:
			put(uint32(9))
			put(uint32(6))
			put(uint64(len(v)))
			put(v)
		}
	}
	return b.Bytes()
}

func TestOpenRefusesGGUF(t *testing.T) {
	t.Parallel()
	tokens, types := entry{"tokenizer.ggml.tokens", []string{"a", "b"}}, entry{"tokenizer.ggml.token_type", []int32{1, 1}}
	bpe := entry{"tokenizer.ggml.model", "gpt2"}
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "no GGUF file"},
		"cut off":         {gguf(tokens, types)[:60], "no GGUF file"},
		"version 1":       {[]byte("GGUF\x01\x00\x00\x00"), "version 1"},
		"no tokens":       {gguf(bpe), "0 tokens"},
		"no types":        {gguf(tokens, bpe), "2 tokens and 0 types"},
		"unknown model":   {gguf(tokens, types, entry{"tokenizer.ggml.model", "t5"}), `"t5"`},
		"unknown pattern": {gguf(tokens, types, bpe, entry{"tokenizer.ggml.pre", "jais"}), `"jais"`},
		"no scores":       {gguf(tokens, types, entry{"tokenizer.ggml.model", "llama"}), "0 scores"},
		"merge of none":   {gguf(tokens, types, bpe, entry{"tokenizer.ggml.pre", "gpt-2"}, entry{"tokenizer.ggml.merges", []string{"a b"}}), "merge 0"},
		"BOS is no token": {gguf(tokens, types, bpe, entry{"tokenizer.ggml.pre", "tekken"}, entry{"tokenizer.ggml.bos_token_id", uint32(7)}), "bos_token_id"},
	} {
		path := write(t, "model.gguf", tt.file)
		if _, err := tokenizer.Open(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v; want the file's name and %q", name, err, tt.want)
		}
	}
	if _, err := tokenizer.Open(filepath.Join(t.TempDir(), "none.gguf")); !os.IsNotExist(err) && err == nil {
		t.Errorf("a file that is not there gives %v", err)
	}
}

// TestFingerprint: two files of one vocabulary agree, and nothing else does.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, v := range vocabularies(t) {
		if other, twice := seen[v.Fingerprint()]; twice {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[v.Fingerprint()] = name
		if again := vocabularies(t)[name]; again.Fingerprint() != v.Fingerprint() {
			t.Errorf("%s has two fingerprints", name)
		}
	}
}

// FuzzOpen: whatever a file holds, it is opened or refused.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		`{"added_tokens":[{"id":3,"content":"<s>","special":true,"lstrip":true}],"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel"},` +
			`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[3]}}},` +
			`"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`,
		`{"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},` +
			`"model":{"unk_token":"<unk>","fuse_unk":true,"vocab":{"<unk>":0,"▁":1,"あ":2,"▁あ":3},"merges":[["▁","あ"]]}}`,
		`{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},"model":{"byte_fallback":true,"vocab":{"<0xE3>":0,"a":1},"merges":[]}}`,
	} {
		f.Add([]byte(seed), false)
	}
	f.Add(gguf(entry{"tokenizer.ggml.tokens", []string{"a", "▁a", "▁"}}, entry{"tokenizer.ggml.token_type", []int32{1, 1, 4}},
		entry{"tokenizer.ggml.model", "llama"}, entry{"tokenizer.ggml.scores", []float32{-1, 0, -2}}, entry{"tokenizer.ggml.bos_token_id", uint32(1)}), true)
	f.Fuzz(func(t *testing.T, data []byte, isGGUF bool) {
		name := "tokenizer.json"
		if isGGUF {
			name = "model.gguf"
		}
		v, err := tokenizer.Open(write(t, name, data))
		if err != nil {
			return
		}
		for _, text := range texts[:12] {
			checkLengths(t, v, text, v.Count(text, tokenizer.Prompt))
		}
	})
}

// FuzzText: whatever a text holds and whichever pattern splits it, its lengths add up, and the tokens of a byte-level
// vocabulary, joined, are the text.
func FuzzText(f *testing.F) {
	all := vocabularies(f)
	var err error
	if all["o200k_base"], err = tokenizer.OpenAI("o200k_base"); err != nil {
		f.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(all))
	for which := range names {
		for _, text := range texts {
			f.Add(uint8(which), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		name := names[int(which)%len(names)]
		v := all[name]
		checkLengths(t, v, text, len(v.Append(nil, text, tokenizer.Prompt)))
		var joined strings.Builder
		for _, id := range v.Append(nil, text, tokenizer.Options{}) {
			bytes, ok := v.Token(id)
			if !ok {
				return
			}
			joined.WriteString(bytes)
		}
		want := text
		if v.Composes() {
			want = norm.NFC.String(text)
		}
		if joined.String() != want {
			t.Errorf("%s cuts %q into the tokens of %q", name, want, joined.String())
		}
	})
}
