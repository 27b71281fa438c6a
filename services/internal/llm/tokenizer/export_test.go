package tokenizer

// Token gives the bytes of a token of a byte-level vocabulary; ok is false for other vocabularies.
func (t *Tokenizer) Token(id int32) (bytes string, ok bool) {
	if t.vocab.characters {
		return "", false
	}
	return t.vocab.tokens[id], true
}

// Composes says that texts are brought into Unicode's composed form (NFC) before they are cut.
func (t *Tokenizer) Composes() bool { return t.vocab.compose }
