package tokenizer

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// What a .gguf file says of a token's type.
const (
	typeControl     = 3
	typeUserDefined = 4
	typeUnknown     = 2
)

// preTokenizers are the names that .gguf files give to split patterns, as llama.cpp reads them. The second says that
// a piece that is a token is that token, the third that BOS stands in front unless the file says otherwise.
var preTokenizers = map[string]struct {
	split      *pattern
	wholeFirst bool
	bos        bool
}{
	"gpt-2": {split: gpt2}, "smollm": {split: smollm}, "qwen2": {split: qwen2}, "gpt-4o": {split: gpt4o},
	"llama-bpe": {llama3, true, true}, "llama3": {llama3, true, true}, "llama-v3": {llama3, true, true},
	"tekken": {tekken, true, true},
}

// head gives values of the entries, or their defaults.
type head map[string]any

func (h head) text(key string) string { s, _ := h["tokenizer.ggml."+key].(string); return s }

func (h head) truth(key string, otherwise bool) bool {
	if b, ok := h["tokenizer.ggml."+key].(bool); ok {
		return b
	}
	return otherwise
}

func (h head) id(key string) (int32, bool) {
	n, ok := h["tokenizer.ggml."+key].(int64)
	return int32(n), ok && n >= 0
}

func (h head) texts(key string) []string { s, _ := h["tokenizer.ggml."+key].([]string); return s }

// parseGGUF makes the vocabulary of the head of a .gguf file.
func parseGGUF(r io.Reader) (*vocabulary, error) {
	entries, err := readHead(r, func(key string) bool { return strings.HasPrefix(key, "tokenizer.ggml.") })
	if err != nil {
		return nil, err
	}
	h := head(entries)
	v := newVocabulary()
	v.tokens = h.texts("tokens")
	types, _ := h["tokenizer.ggml.token_type"].([]int32)
	if len(v.tokens) == 0 || len(types) != len(v.tokens) {
		return nil, fmt.Errorf("lists %d tokens and %d types of tokens; both must be there", len(v.tokens), len(types))
	}
	v.ggufAdded(types)
	bos := true
	switch model := h.text("model"); model {
	case "llama":
		err = v.sentencePiece(h)
	case "gpt2":
		pre, known := preTokenizers[h.text("pre")]
		if !known {
			return nil, fmt.Errorf("tokenizer.ggml.pre is %q; that split pattern is not known", h.text("pre"))
		}
		v.split, v.wholeFirst, bos = pre.split, pre.wholeFirst, pre.bos
		err = v.mergeList(h.texts("merges"))
	default:
		return nil, fmt.Errorf("tokenizer.ggml.model is %q; llama (SentencePiece) and gpt2 (byte-level BPE) are known", model)
	}
	if err == nil {
		err = v.ggufAround(h, bos)
	}
	return v, err
}

// endings are texts that llama.cpp takes for control tokens whatever the file says of their type, since they look like the
// end of a turn (gemma has the tag </s> among its tokens).
var endings = []string{
	"</s>", "<eos>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>", "_<EOT>",
}

// ggufAdded notes the tokens that are cut out of a text before all else.
func (v *vocabulary) ggufAdded(types []int32) {
	for id, kind := range types {
		if v.tokens[id] != "" && (kind == typeControl || kind == typeUserDefined || kind == typeUnknown) {
			control := kind != typeUserDefined || slices.Contains(endings, v.tokens[id])
			v.added.list = append(v.added.list, addedToken{text: v.tokens[id], id: int32(id), control: control})
		}
	}
}

// ggufAround notes BOS and EOS.
func (v *vocabulary) ggufAround(h head, bos bool) error {
	for _, around := range []struct {
		key       string
		otherwise bool
		to        *[]int32
	}{{"bos", bos, &v.front}, {"eos", false, &v.back}} {
		if !h.truth("add_"+around.key+"_token", around.otherwise) {
			continue
		}
		id, ok := h.id(around.key + "_token_id")
		if !ok || int(id) >= len(v.tokens) {
			return fmt.Errorf("tokenizer.ggml.%s_token_id is missing or no token", around.key)
		}
		*around.to = []int32{id}
	}
	return nil
}

// sentencePiece reads a vocabulary with scores.
func (v *vocabulary) sentencePiece(h head) error {
	scores, _ := h["tokenizer.ggml.scores"].([]float32)
	if len(scores) != len(v.tokens) {
		return fmt.Errorf("lists %d tokens and %d scores; a SentencePiece vocabulary has one for each", len(v.tokens), len(scores))
	}
	v.characters = true
	v.blank.prefix = h.truth("add_space_prefix", true)
	v.blank.everywhere = v.blank.prefix
	v.merges = mergesByRank(v.tokens, byScore(scores), true)
	if id, ok := h.id("unknown_token_id"); ok {
		v.unknown = id
	}
	return v.byteTokens(true)
}

// mergeList reads a byte-level vocabulary with a list of pairs.
func (v *vocabulary) mergeList(list []string) error {
	ids := make(map[string]int32, len(v.tokens))
	for id, text := range v.tokens {
		ids[text] = int32(id)
	}
	for i, text := range list {
		// A blank inside of a part is written as Ġ, so the first one behind the first character parts them.
		a, b, _ := strings.Cut(text, " ")
		left, hasLeft := ids[a]
		right, hasRight := ids[b]
		joined, made := ids[a+b]
		if !hasLeft || !hasRight || !made {
			return fmt.Errorf("merge %d %q joins parts of which not all are in the vocabulary", i, text)
		}
		v.merges = append(v.merges, merge{left, right, joined, uint32(i)})
	}
	return v.byteTokens(false)
}
