package tokenizer

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// encodings are the OpenAI families, whose vocabularies a library embeds. Each is made once, when it is first asked for.
var encodings = map[string]func() (*Tokenizer, error){
	"cl100k_base": sync.OnceValues(func() (*Tokenizer, error) { return embedded(codec.NewCl100kBase(), 100_256, 100_277, llama3) }),
	"o200k_base":  sync.OnceValues(func() (*Tokenizer, error) { return embedded(codec.NewO200kBase(), 199_998, 200_019, gpt4o) }),
	"p50k_base":   sync.OnceValues(func() (*Tokenizer, error) { return embedded(codec.NewP50kBase(), 50_280, 50_281, gpt2) }),
	"r50k_base":   sync.OnceValues(func() (*Tokenizer, error) { return embedded(codec.NewR50kBase(), 50_256, 50_257, gpt2) }),
}

// OpenAI gives the tokenizer of an encoding of OpenAI: cl100k_base (GPT-4), o200k_base (GPT-4o and later), p50k_base,
// r50k_base (GPT-3). Control tokens are text to it: the API takes none.
func OpenAI(encoding string) (*Tokenizer, error) {
	open, ok := encodings[encoding]
	if !ok {
		return nil, fmt.Errorf("the encoding %q is not known; known are cl100k_base, o200k_base, p50k_base and r50k_base", encoding)
	}
	return open()
}

// embedded takes the tokens below a number out of a codec of the library; an id without a token stays empty. size is that of
// Size: the control tokens, which the API takes in a bias, lie above (the library's own table of them).
func embedded(c *codec.Codec, tokens, size int, split *pattern) (*Tokenizer, error) {
	v := newVocabulary()
	v.split, v.wholeFirst = split, true
	v.tokens = make([]string, tokens)
	for id := range v.tokens {
		text, err := c.Decode([]uint{uint(id)})
		if err != nil {
			continue
		}
		v.tokens[id] = text
		if len(text) == 1 {
			v.bytes[text[0]] = int32(id)
		}
	}
	v.merges = mergesByRank(v.tokens, func(id int32) uint32 { return uint32(id) }, false)
	t, err := newTokenizer(v)
	if err == nil {
		t.size = size
	}
	return t, err
}
