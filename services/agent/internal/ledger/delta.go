package ledger

import (
	"bytes"
	"errors"
)

// member is one of an object, as it is written.
type member struct{ key, value []byte }

var errObject = errors.New("its stored text is damaged: it is no whole JSON object as this program writes one, or something stands behind its end")

// most is how many members a session has as a rule, so that room for them is made once.
const most = 24

// members appends the members of an object that json.Marshal wrote, whose names need no escapes: those of Session. It reads the text once, which is
// why encoding/json does not do it.
func members(all []member, object []byte) ([]member, error) {
	rest, ok := bytes.CutPrefix(object, []byte("{"))
	for ok && len(rest) > 0 && rest[0] == '"' {
		var m member
		m.key, rest, ok = bytes.Cut(rest[1:], []byte(`":`))
		n := extent(rest)
		if !ok || n == 0 || n == len(rest) {
			return nil, errObject
		}
		m.value = rest[:n]
		all = append(all, m)
		if rest[n] == '}' && n+1 == len(rest) {
			return all, nil
		}
		if rest[n] == '}' { // A record with anything behind its end is not as it was written.
			return nil, errObject
		}
		rest = rest[n+1:]
	}
	if string(object) != "{}" {
		return nil, errObject
	}
	return nil, nil
}

// extent is how long a value is that others follow; 0: it never ends.
func extent(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			n := quoted(text[i+1:])
			if n < 0 {
				return 0
			}
			i += n + 1
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}'):
			return i
		case c == '}' || c == ']':
			depth--
		}
	}
	return 0
}

// quoted is where the text ends in which one is; negative: nowhere.
func quoted(text []byte) int {
	for at := 0; ; at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return n
		}
		at += n
		if escapes := len(text[:at]) - len(bytes.TrimRight(text[:at], `\`)); escapes%2 == 0 {
			return at
		}
	}
}

// delta is a JSON merge patch (RFC 7386) of the members of two objects: those that changed as they are now, those that are gone as null.
func delta(before, after []byte) ([]byte, error) {
	a, errA := members(make([]member, 0, most), before)
	b, errB := members(make([]member, 0, most), after)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	var changed []member
	for _, m := range b {
		if !bytes.Equal(find(a, m.key), m.value) {
			changed = append(changed, m)
		}
	}
	for _, m := range a {
		if find(b, m.key) == nil {
			changed = append(changed, member{m.key, []byte("null")})
		}
	}
	return object(changed), nil
}

// object writes members as json.Marshal does, of which members reads them again.
func object(all []member) []byte {
	size := 2
	for _, m := range all {
		size += len(m.key) + len(m.value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), m.key...), `":`...), m.value...)
	}
	return append(out, '}')
}

func find(all []member, key []byte) []byte {
	for _, m := range all {
		if bytes.Equal(m.key, key) {
			return m.value
		}
	}
	return nil
}
