package story

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What model families read as control tokens, as their tokenizer files and chat templates name them (field/spi.md 2.4).
const (
	// Of SentencePiece vocabularies, BERT, Llama 2 and Code Llama, GLM, InternLM.
	oldTokens = `<s> </s> <unk> <pad> <mask> <bos> <eos> <cls> <sep> [CLS] [SEP] [PAD] [UNK] [MASK] <PRE> <SUF> <MID> <EOT> <im_start> <im_end>
		[gMASK] [sMASK] <sop> <eop> <eod> <eoh> <eoa> <end_of_utterance>`
	// Of Mistral, all its tokenizers.
	mistralTokens = `[INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [MODEL_SETTINGS] [/MODEL_SETTINGS] [THINK] [/THINK]
		[AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS] [CALL_ID] [ARGS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CONTENT]
		[IMG] [IMG_BREAK] [IMG_END] [AUDIO] [BEGIN_AUDIO] [TRANSCRIBE] [PREFIX] [MIDDLE] [SUFFIX]`
	// Of Gemma, those of FunctionGemma and Gemma 4 among them.
	gemmaTokens = `<start_of_turn> <end_of_turn> <start_of_image> <end_of_image> <start_of_audio> <end_of_audio> <image_soft_token> <audio_soft_token>
		<table> <start_function_declaration> <end_function_declaration> <start_function_call> <end_function_call> <start_function_response>
		<end_function_response> <escape> <|turn> <turn|> <|channel> <channel|> <|tool> <tool|> <|tool_call> <tool_call|> <|tool_response>
		<tool_response|> <|image> <image|> <|audio> <audio|> <|think> <think|>`
	// Of Qwen and GLM: calls of tools and thoughts; of StarCoder and those after it: the parts of a file; of Falcon.
	otherTokens = `<tool_call> </tool_call> <tool_response> </tool_response> <think> </think> <arg_key> </arg_key> <arg_value> </arg_value>
		<fim_prefix> <fim_middle> <fim_suffix> <fim_pad> <repo_name> <file_sep> [RESP]`
)

// tokenNames are these.
var tokenNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(oldTokens + " " + mistralTokens + " " + gemmaTokens + " " + otherTokens) {
		names[name] = true
	}
	return names
}()

// tokenMarks are those with a > or ] inside, or with none.
var tokenMarks = slices.Concat([]string{"<<SYS>>", "<</SYS>>"}, wrappings["alpaca"].Stop)

// tokenForms are families whose tokens are known by their form: 1 to maxInside characters of a kind between two marks.
var tokenForms = []struct {
	open, end string
	inside    func(rune) bool
}{
	{"<|", "|>", func(r rune) bool { return r < utf8.RuneSelf && (isWord(r) || strings.ContainsRune(` /.-"`, r)) }}, // ChatML, Llama 3, Phi, Cohere
	{"<｜", "｜>", func(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune("｜<>", r) }},               // DeepSeek
	{"[|", "|]", isWord},                              // EXAONE
	{"<", "_TOKEN>", unicode.IsUpper},                 // Cohere
	{"<seed:", ">", isWord}, {"</seed:", ">", isWord}, // Seed-OSS
	{"<unused", ">", isDigit}, {"<SPECIAL_", ">", isDigit}, {"[control_", "]", isDigit}, {"<extra_id_", ">", isDigit}, {"<reserved_", ">", isDigit}, // kept free
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isWord(r rune) bool {
	return isDigit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
}

// maxInside bounds what stands between the marks of a form, in characters, and maxToken a token, in bytes.
const (
	maxInside = 40
	maxToken  = 256
)

// isToken says that a text is a control token that ends at its first > or ].
func isToken(text string) bool {
	if tokenNames[text] {
		return true
	}
	for _, form := range tokenForms {
		inside, opened := strings.CutPrefix(text, form.open)
		inside, ended := strings.CutSuffix(inside, form.end)
		if opened && ended && inside != "" && strings.IndexFunc(inside, func(r rune) bool { return !form.inside(r) }) < 0 &&
			utf8.RuneCountInString(inside) <= maxInside {
			return true
		}
	}
	return false
}
