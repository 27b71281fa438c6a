package prefixtest

import "hash/fnv"

// Cache is how a server keeps the beginnings of prompts.
type Cache struct {
	Name string
	// Least is how many tokens are kept at least, Step in what steps more are. 0: those of the last prompt alone, one by one.
	Least, Step int
}

// Caches are those of llama.cpp with one slot, of vLLM, and of OpenAI (field/systemprompt.md 2).
func Caches() []Cache {
	return []Cache{{"the longest common prefix", 0, 0}, {"blocks of 16 tokens", 16, 16}, {"1,024 tokens and steps of 128", 1024, 128}}
}

// Simulator is a Server that reads nothing, and keeps books as a cache does.
type Simulator struct {
	cache    Cache
	tokenize func(string) []int32
	last     []int32
	kept     map[uint64]bool
}

// NewSimulator makes a Simulator without a prompt.
func NewSimulator(cache Cache, tokenize func(string) []int32) *Simulator {
	return &Simulator{cache: cache, tokenize: tokenize, kept: map[uint64]bool{}}
}

// Count gives the tokens of a text, without one that stands before each.
func (s *Simulator) Count(text string) int { return len(s.tokenize(text)) - len(s.tokenize("")) }

// Read tells what a server would have of a prompt. The last token is always read: from it the answer comes.
func (s *Simulator) Read(prompt string) (tokens, cached int, err error) {
	ids := s.tokenize(prompt)
	if s.cache.Step > 0 {
		return len(ids), s.steps(ids), nil
	}
	for cached < min(len(ids)-1, len(s.last)) && ids[cached] == s.last[cached] {
		cached++
	}
	s.last = ids
	return len(ids), cached, nil
}

// steps gives the largest beginning that an earlier prompt had, and keeps those of this one.
func (s *Simulator) steps(ids []int32) (cached int) {
	h := fnv.New64a()
	for i, id := range ids {
		_, _ = h.Write([]byte{byte(id), byte(id >> 8), byte(id >> 16)}) // never fails
		if n := i + 1; n >= s.cache.Least && (n-s.cache.Least)%s.cache.Step == 0 {
			if s.kept[h.Sum64()] && n < len(ids) {
				cached = n
			}
			s.kept[h.Sum64()] = true
		}
	}
	return cached
}
