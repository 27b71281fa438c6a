package audit

import (
	"encoding/json"
	"strconv"
	"time"
)

// usual is about the length of a row in JSON, in bytes.
const usual = 640

// JSON writes rows that were made by Keys, as json.Marshal does. No reflection is asked what a row looks like: rows are most of what a
// turn writes.
func JSON(rows []Row) []byte {
	b := append(make([]byte, 0, usual*len(rows)+2), '[')
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = rows[i].json(b)
	}
	return append(b, ']')
}

func (r *Row) json(b []byte) []byte {
	b = strconv.AppendUint(append(b, `{"seq":`...), r.Seq, 10)
	b = append(r.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano), '"')
	for _, t := range r.texts() {
		switch {
		case t.name == "actor.name":
			b = quote(append(b, `,"actor":{"name":`...), t.value)
		case t.name == "actor.kind":
			b = append(quote(append(b, `,"kind":`...), t.value), '}')
		case t.value != "":
			b = quote(append(append(append(b, `,"`...), t.name...), `":`...), t.value)
		}
	}
	b = quote(append(b, `,"key_id":`...), r.KeyID)
	b = quote(append(b, `,"prev":`...), r.Prev)
	return append(quote(append(b, `,"mac":`...), r.MAC), '}')
}

// quote appends a text as a string of JSON. What is more than a sentence in ASCII is left to encoding/json.
func quote(b []byte, text string) []byte {
	from := len(b)
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~' || c == '<' || c == '>' || c == '&':
			raw, _ := json.Marshal(text) // A text has no error.
			return append(b[:from], raw...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
