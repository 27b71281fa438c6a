package tokenizer

import (
	"fmt"
	"slices"
	"strings"
)

// The published expressions, as tokenizer.json files spell them.
var published = map[string]*pattern{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`:                                                         gpt2,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                llama3,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                     qwen2,
	`[^\r\n\p{L}\p{N}]?` + capitalised + `+` + withShort + `|[^\r\n\p{L}\p{N}]?` + shouted + `*` + withShort + `|\p{N}{1,3}` + casedRest: gpt4o,
	`[^\r\n\p{L}\p{N}]?` + capitalised + `+|[^\r\n\p{L}\p{N}]?` + shouted + `*|\p{N}` + casedRest:                                        tekken,
}

// The parts that the expressions of the cased patterns share.
const (
	capitalised = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	shouted     = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	withShort   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
	casedRest   = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// steps reads the normalizer and the pre-tokenizer.
func (v *vocabulary) steps(file tokenizerFile) error {
	blankIsEscaped := false
	for _, s := range flat(file.Normalizer) {
		switch {
		case s.Type == "NFC":
			v.compose = true
		case s.Type == "Replace" && s.Pattern.String != nil && *s.Pattern.String == " " && s.Content == string(lowerOneEighth):
			blankIsEscaped = true
		case s.Type == "Prepend" && s.Prepend == string(lowerOneEighth):
			v.blank.prefix, v.blank.everywhere = true, true
		default:
			return fmt.Errorf("normalizer %s is not known; known are NFC, and Prepend and Replace that write a blank as ▁", s.Type)
		}
	}
	v.characters = blankIsEscaped
	steps := flat(file.PreTokenizer)
	if len(steps) == 1 && v.metaspace(steps[0]) {
		return nil
	}
	if v.characters {
		// What is split at a blank finds none: the normalizer wrote them all as ▁.
		if len(steps) == 0 || len(steps) == 1 && steps[0].Type == "Split" && steps[0].Pattern.String != nil && *steps[0].Pattern.String == " " {
			return nil
		}
		return fmt.Errorf("pre_tokenizer %s is not known behind a normalizer that writes a blank as ▁", names(steps))
	}
	return v.byteLevel(steps)
}

// flat gives the steps of a sequence, however deep.
func flat(s *step) []step {
	if s == nil {
		return nil
	}
	if s.Type != "Sequence" {
		return []step{*s}
	}
	var all []step
	for _, inner := range slices.Concat(s.Normalizers, s.Pretokenizers) {
		all = append(all, flat(&inner)...)
	}
	return all
}

func names(steps []step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Type)
	}
	return strings.Join(all, ", ")
}

// metaspace reads the pre-tokenizer of that name, which writes blanks as ▁.
func (v *vocabulary) metaspace(s step) bool {
	if s.Type != "Metaspace" || s.Replacement != string(lowerOneEighth) {
		return false
	}
	v.characters = true
	v.blank.words = s.Split == nil || *s.Split
	switch {
	case s.PrependScheme == "first":
		v.blank.prefix, v.blank.once = true, true
	case s.PrependScheme == "always", s.PrependScheme == "" && s.AddPrefixSpace:
		v.blank.prefix, v.blank.everywhere, v.blank.once = true, true, true
	}
	return true
}

// byteLevel reads the pre-tokenizers that end with ByteLevel.
func (v *vocabulary) byteLevel(steps []step) error {
	if len(steps) == 0 || steps[len(steps)-1].Type != "ByteLevel" || steps[len(steps)-1].AddPrefixSpace {
		return fmt.Errorf("pre_tokenizer %q is not known; it must be Metaspace, or end with ByteLevel without add_prefix_space", names(steps))
	}
	last, before := steps[len(steps)-1], steps[:len(steps)-1]
	own := last.UseRegex == nil || *last.UseRegex
	switch {
	case own && len(before) == 0:
		v.split = gpt2
		return nil
	case own && len(before) == 1 && before[0].Type == "Digits" && before[0].IndividualDigits:
		v.split = smollm
		return nil
	case own || len(before) != 1 || before[0].Type != "Split" || before[0].Pattern.Regex == nil || before[0].Invert ||
		before[0].Behavior != "Isolated":
		return fmt.Errorf("pre_tokenizer %s is not known", names(steps))
	}
	if v.split = published[*before[0].Pattern.Regex]; v.split == nil {
		return fmt.Errorf("the split pattern %s is not known", *before[0].Pattern.Regex)
	}
	return nil
}

// around reads what the model wants in front of a text and behind it.
func (v *vocabulary) around(p *postProcessor) error {
	if p == nil {
		return nil
	}
	switch p.Type {
	case "ByteLevel":
		return nil
	case "Sequence":
		for i := range p.Processors {
			if err := v.around(&p.Processors[i]); err != nil {
				return err
			}
		}
		return nil
	case "TemplateProcessing":
	default:
		return fmt.Errorf("post_processor %s is not known", p.Type)
	}
	to := &v.front
	for _, part := range p.Single {
		if part.SpecialToken == nil {
			to = &v.back
			continue
		}
		ids, ok := p.SpecialTokens[part.SpecialToken.ID]
		if !ok {
			return fmt.Errorf("post_processor names the token %s without its id", part.SpecialToken.ID)
		}
		*to = append(*to, ids.IDs...)
	}
	return nil
}

// maxTokens is the most tokens of a vocabulary.
const maxTokens = 1 << 22

// fromModel reads the tokens and the merges.
func (v *vocabulary) fromModel(m *bpeModel, addedTokens []addedEntry) error {
	ids := make(map[string]int32, len(m.Vocab)+len(addedTokens))
	for text, id := range m.Vocab {
		ids[text] = id
	}
	for _, a := range addedTokens {
		if a.Content == "" || a.SingleWord {
			return fmt.Errorf("the added token %d %q is empty or single_word; neither is known", a.ID, a.Content)
		}
		ids[a.Content] = a.ID
		v.added.list = append(v.added.list, addedToken{
			text: a.Content, id: a.ID, control: a.Special, left: a.LStrip, right: a.RStrip,
		})
	}
	if err := v.place(ids); err != nil {
		return err
	}
	for i, pair := range m.Merges {
		a, left := m.Vocab[pair[0]]
		b, right := m.Vocab[pair[1]]
		joined, made := m.Vocab[pair[0]+pair[1]]
		if !left || !right || !made {
			return fmt.Errorf("merge %d joins %q and %q, of which not all are in the vocabulary", i, pair[0], pair[1])
		}
		v.merges = append(v.merges, merge{a, b, joined, uint32(i)})
	}
	if m.Unknown != nil {
		v.unknown = -1
		if id, ok := ids[*m.Unknown]; ok {
			v.unknown = id
		}
	}
	return v.byteTokens(m.ByteFallback)
}

// place puts the tokens where their ids say.
func (v *vocabulary) place(ids map[string]int32) error {
	for text, id := range ids {
		if id < 0 || id >= maxTokens {
			return fmt.Errorf("the token %q has the id %d; ids are from 0 to %d", text, id, maxTokens-1)
		}
		for int(id) >= len(v.tokens) {
			v.tokens = append(v.tokens, "")
		}
		if text == "" || v.tokens[id] != "" {
			return fmt.Errorf("the id %d has two tokens, or one without a text", id)
		}
		v.tokens[id] = text
	}
	return nil
}
