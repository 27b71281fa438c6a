package tokenizer

import "fmt"

// byteTokens finds the tokens that stand for bytes. In a byte-level vocabulary these are the tokens of one byte, and all
// tokens are brought into their bytes here; in one of characters they are written <0xE3>, if the model has them at all.
func (v *vocabulary) byteTokens(fallback bool) error {
	if v.characters {
		if !fallback {
			if v.unknown < 0 {
				return fmt.Errorf("there is neither byte_fallback nor a token for what is not known")
			}
			return nil
		}
		names := make(map[string]byte, 256)
		for b := range 256 {
			names[fmt.Sprintf("<0x%02X>", b)] = byte(b)
		}
		for id, text := range v.tokens {
			if b, ok := names[text]; ok {
				v.bytes[b] = int32(id)
			}
		}
		return nil
	}
	isAdded := make(map[int32]bool, len(v.added.list))
	for _, a := range v.added.list {
		isAdded[a.id] = true
	}
	for id, text := range v.tokens {
		if isAdded[int32(id)] {
			continue
		}
		bytes, ok := unwrite(text)
		if !ok {
			return fmt.Errorf("the token %d %q is not written as bytes, as a byte-level vocabulary writes it", id, text)
		}
		v.tokens[id] = bytes
		if len(bytes) == 1 {
			v.bytes[bytes[0]] = int32(id)
		}
	}
	return nil
}
