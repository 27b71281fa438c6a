package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// tokenizerFile is a tokenizer.json, as far as it decides how a text is cut.
type tokenizerFile struct {
	Added         []addedEntry    `json:"added_tokens"`
	Normalizer    *step           `json:"normalizer"`
	PreTokenizer  *step           `json:"pre_tokenizer"`
	PostProcessor *postProcessor  `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
}

type addedEntry struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Special    bool   `json:"special"`
}

// step is a normalizer or a pre-tokenizer.
type step struct {
	Type string `json:"type"`
	// Normalizers and Pretokenizers are those of a Sequence.
	Normalizers   []step `json:"normalizers"`
	Pretokenizers []step `json:"pretokenizers"`
	// Pattern and Content are those of a Replace, Pattern and Behavior those of a Split.
	Pattern struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	} `json:"pattern"`
	Content  string `json:"content"`
	Behavior string `json:"behavior"`
	Invert   bool   `json:"invert"`
	// Prepend is that of a Prepend.
	Prepend string `json:"prepend"`
	// AddPrefixSpace and UseRegex are those of a ByteLevel; the file may leave UseRegex out and mean true.
	AddPrefixSpace bool  `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"`
	// IndividualDigits is that of Digits.
	IndividualDigits bool `json:"individual_digits"`
	// Replacement, PrependScheme and Split are those of a Metaspace.
	Replacement   string `json:"replacement"`
	PrependScheme string `json:"prepend_scheme"`
	Split         *bool  `json:"split"`
}

type postProcessor struct {
	Type       string          `json:"type"`
	Processors []postProcessor `json:"processors"`
	Single     []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct{} `json:"Sequence"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
}

type bpeModel struct {
	Type         string           `json:"type"`
	Dropout      *float64         `json:"dropout"`
	Unknown      *string          `json:"unk_token"`
	Prefix       string           `json:"continuing_subword_prefix"`
	Suffix       string           `json:"end_of_word_suffix"`
	Fuse         bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []mergeEntry     `json:"merges"`
}

// mergeEntry is a pair: an array of two, or one text with a blank between them.
type mergeEntry [2]string

// UnmarshalJSON reads both forms.
func (m *mergeEntry) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var pair []string
		if err := json.Unmarshal(data, &pair); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("a merge has %d parts", len(pair))
		}
		*m = mergeEntry{pair[0], pair[1]}
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	a, b, ok := strings.Cut(text, " ")
	if !ok || strings.Contains(b, " ") {
		return fmt.Errorf("the merge %q is not two parts with a blank between them", text)
	}
	*m = mergeEntry{a, b}
	return nil
}

// readJSON reads a tokenizer.json.
func readJSON(f *os.File) (*vocabulary, error) {
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("is larger than %d bytes", MaxFile)
	}
	return parseJSON(data)
}

func parseJSON(data []byte) (*vocabulary, error) {
	var file tokenizerFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("is no tokenizer.json: %w", err)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(file.Model, &kind); err != nil {
		return nil, fmt.Errorf("is no tokenizer.json: its model: %w", err)
	}
	if kind.Type != "BPE" && kind.Type != "" {
		return nil, fmt.Errorf("model.type is %s; only BPE is known", kind.Type)
	}
	var model bpeModel
	if err := json.Unmarshal(file.Model, &model); err != nil {
		return nil, fmt.Errorf("is no tokenizer.json: its model: %w", err)
	}
	if model.Dropout != nil && *model.Dropout != 0 || model.Prefix != "" || model.Suffix != "" {
		return nil, errors.New("model has a dropout, a continuing_subword_prefix or an end_of_word_suffix; none of them is known")
	}
	v := newVocabulary()
	v.fuse, v.wholeFirst = model.Fuse, model.IgnoreMerges
	if err := v.steps(file); err != nil {
		return nil, err
	}
	if err := v.fromModel(&model, file.Added); err != nil {
		return nil, err
	}
	err := v.around(file.PostProcessor)
	return v, err
}
