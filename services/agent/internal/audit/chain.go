package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Start is the Prev of the first row of a session.
const Start = "0000000000000000000000000000000000000000000000000000000000000000"

// Versions of what the codes go over. Another layout gets another one, so that no old code fits a new text.
const (
	rowVersion  = "tsumugi audit row 1"
	headVersion = "tsumugi audit head 1"
	bodyVersion = "tsumugi audit body 1"
)

// MinKey is the length of the shortest key, in bytes: as long as the code.
const MinKey = sha256.Size

// Keys are the keys of codes by id: one for new rows, all for old ones. After a rotation the old key stays, so that its rows
// can be verified. It never prints a key.
type Keys struct {
	current string
	keys    map[string]*key
}

// NewKeys takes keys by id, of which current makes new rows. The error names every key that is too short, every bad id, and a
// current one that is not there.
func NewKeys(current string, keys map[string][]byte) (*Keys, error) {
	k := &Keys{current, map[string]*key{}}
	var problems []string
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if id == "" || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			problems = append(problems, fmt.Sprintf("%q is no id of a key: 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-'", id))
		}
		if len(keys[id]) < MinKey {
			problems = append(problems, fmt.Sprintf("the key %q has %d bytes; it needs at least %d", id, len(keys[id]), MinKey))
		}
		k.keys[id] = &key{secret: slices.Clone(keys[id])}
	}
	if _, ok := keys[current]; !ok {
		problems = append(problems, fmt.Sprintf("there is no key %q, which new rows are to be made with", current))
	}
	if problems != nil {
		return nil, fmt.Errorf("the keys of the audit record: %s", strings.Join(problems, "; "))
	}
	return k, nil
}

// String names the ids.
func (k *Keys) String() string {
	return fmt.Sprintf("keys %s, new rows with %s", strings.Join(slices.Sorted(maps.Keys(k.keys)), ", "), k.current)
}

// GoString is String: no format prints a key.
func (k *Keys) GoString() string { return k.String() }

// Head is where the chain of a session ends. It is kept apart from the rows: then rows cut from the end are missed. Its Seal is a
// code too, so that nobody without the key makes one for a shorter chain; an old head that was put back is found only by
// who has kept a newer one elsewhere.
type Head struct {
	Namespace string `json:"namespace"`
	Session   string `json:"session"`
	// Seq and MAC are those of the last row; 0 and Start before the first one.
	Seq uint64 `json:"seq"`
	MAC string `json:"mac"`
	// Time is that of the last row.
	Time  time.Time `json:"time"`
	KeyID string    `json:"key_id"`
	Seal  string    `json:"seal"`
}

// Begin gives the head of a session without a row.
func (k *Keys) Begin(namespace, session string) Head {
	h := Head{Namespace: namespace, Session: session, MAC: Start, KeyID: k.current, Time: time.Unix(0, 0).UTC()}
	h.Seal = k.keys[k.current].code(h.encode)
	return h
}

// Append puts an entry behind a head, and gives the row and the head with it. Both are stored in one transaction with what the
// row tells. The error is an *EntryError with all problems, or says that the head is not ours.
func (k *Keys) Append(h Head, e Entry) (Row, Head, error) {
	rows, next, err := k.Extend(h, e)
	if err != nil {
		return Row{}, Head{}, err
	}
	return rows[0], next, nil
}

// Extend is Append of several entries, which are of one transaction: of the heads between them there is no seal.
func (k *Keys) Extend(h Head, entries ...Entry) ([]Row, Head, error) {
	key, known := k.keys[h.KeyID]
	if !known {
		return nil, Head{}, fmt.Errorf("the head of the audit record was made with the key %q, which is not among the keys", h.KeyID)
	}
	if !equal(h.Seal, key.code(h.encode)) {
		return nil, Head{}, fmt.Errorf("the head of the audit record of sessions/%s was changed", h.Session)
	}
	key = k.keys[k.current]
	rows := make([]Row, 0, len(entries))
	for _, e := range entries {
		if err := e.check(); err != nil {
			return nil, Head{}, err
		}
		switch {
		case h.Namespace != e.Namespace || h.Session != e.Session:
			return nil, Head{}, &EntryError{[]string{fmt.Sprintf("it is of sessions/%s, and the head of sessions/%s", e.Session, h.Session)}}
		case e.Time.Before(h.Time):
			return nil, Head{}, &EntryError{[]string{fmt.Sprintf("its time %v is before that of the last row, %v", e.Time, h.Time)}}
		}
		e.Time = e.Time.UTC().Round(0)
		r := Row{Seq: h.Seq + 1, Entry: e, KeyID: k.current, Prev: h.MAC}
		r.MAC = key.code(r.encode)
		rows = append(rows, r)
		h.Seq, h.MAC, h.Time, h.KeyID = r.Seq, r.MAC, e.Time, k.current
	}
	h.Seal = key.code(h.encode)
	return rows, h, nil
}

// Resume makes the head behind the last of the rows of a session, where theirs is lost. They are verified first, and the error is a *BadRow; that
// rows were cut from their end nobody can see any more.
func (k *Keys) Resume(rows iter.Seq2[Row, error], namespace, session string) (Head, error) {
	h := k.Begin(namespace, session)
	_, err := k.Verify(func(yield func(Row, error) bool) {
		for r, err := range rows {
			if !yield(r, err) || err != nil {
				return
			}
			h.Seq, h.MAC, h.Time, h.KeyID = r.Seq, r.MAC, r.Time, k.current
		}
	}, Chain{Namespace: namespace, Session: session})
	h.Seal = k.keys[k.current].code(h.encode)
	return h, err
}

// Sign gives the code of a text that is stored with a head and has the head in it, by the head's key; empty where that is not among the keys.
func (k *Keys) Sign(h Head, body []byte) string {
	key, known := k.keys[h.KeyID]
	if !known {
		return ""
	}
	return key.code(func(b []byte) []byte { return append(text(b, bodyVersion), body...) })
}

// Signed is nil where a code is that of a text, as Sign makes it.
func (k *Keys) Signed(h Head, body []byte, code string) error {
	switch signed := k.Sign(h, body); {
	case signed == "":
		return fmt.Errorf("it was written with the key %q, which is not among the keys", h.KeyID)
	case !equal(code, signed):
		return errors.New("its seal does not fit what it says: it was changed")
	}
	return nil
}

// encode appends the bytes that the code of a row goes over: every field but the code, each text with its length before it, so
// that two rows never have the same.
func (r *Row) encode(b []byte) []byte {
	b = text(b, rowVersion)
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	b = text(text(b, r.KeyID), r.Prev)
	b = moment(b, r.Time)
	for _, t := range r.texts() {
		b = text(b, t.value)
	}
	return b
}

// encode appends the bytes that the seal goes over.
func (h *Head) encode(b []byte) []byte {
	b = text(b, headVersion)
	b = binary.BigEndian.AppendUint64(b, h.Seq)
	for _, t := range []string{h.KeyID, h.MAC, h.Namespace, h.Session} {
		b = text(b, t)
	}
	return moment(b, h.Time)
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

// moment gives seconds and nanoseconds: nanoseconds alone do not hold each year.
func moment(b []byte, t time.Time) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(t.Unix()))
	return binary.BigEndian.AppendUint64(b, uint64(t.Nanosecond()))
}

// key is one of Keys. Its coders have worked on the secret already, which is half of the work of a code.
type key struct {
	secret []byte
	coders sync.Pool
}

// coder makes codes one after the other, each of what is put together in its text.
type coder struct {
	mac       hash.Hash
	text, sum []byte
}

// CodeSize is the length of a code, in bytes.
const CodeSize = len(Start)

// maxText is the length of the longest text whose room is kept for the next one, in bytes.
const maxText = 64 << 10

// code gives the code of what encode appends.
func (k *key) code(encode func([]byte) []byte) string {
	c, ok := k.coders.Get().(*coder)
	if !ok {
		c = &coder{mac: hmac.New(sha256.New, k.secret)}
	}
	text := encode(c.text[:0])
	c.mac.Write(text)
	c.sum = c.mac.Sum(c.sum[:0])
	code := string(hex.AppendEncode(make([]byte, 0, CodeSize), c.sum))
	c.mac.Reset()
	if cap(text) <= maxText {
		c.text = text
	}
	k.coders.Put(c)
	return code
}

// equal compares codes in constant time.
func equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
