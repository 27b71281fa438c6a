package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Probe is the text whose tokens tell one tokenizer from another: several scripts, joined emoji, combining marks, runs of
// blanks, line ends, digits, and the control tokens of common models. Changing it changes every fingerprint.
const Probe = "紡ぎ、夜の港で「待て！」と彼女は言った。\n\n　ﾃｽﾄ ＡＢＣ１２３ カ\u3099ガ\n" +
	"The quick brown fox can't jump over 1234567890 lazy dogs...\n/path\t\t  x  \r\n" +
	"Ελληνικά русский 한국어 中文 العربية हिन्दी ไทย é e\u0301 👨‍👩‍👧‍👦🏽\u2581\n" +
	"{\"a\": [1, 2.5e-3]} <html> _ __ #### ``` [INST][/INST]<s></s><bos><eos>" +
	"<|im_start|><|im_end|><|endoftext|><start_of_turn><end_of_turn><|eot_id|>"

// Digest is the first half of the SHA-256 of a value's JSON, in hex. The value is plain structs, slices and numbers.
func Digest(v any) string {
	data, _ := json.Marshal(v) // of plain values: cannot fail
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
