// Package pagetoken makes the opaque page tokens of lists (AIP-158): where the next page begins, bound to the query.
//
// A token is no authority: whoever holds one sees what the query shows anyway. It is a keyset, not an offset, so items
// that come or go between two pages shift nothing. Layout, in base64url: version (1 byte), first 8 bytes of the
// SHA-256 of the query, key, first 4 bytes of the SHA-256 of all before.
package pagetoken

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

const (
	version  = 1
	queryLen = 8
	sumLen   = 4
	// maxLen bounds what is decoded; a key is an id or a few.
	maxLen = 4 << 10
)

// What can be wrong with a token. Both are INVALID_ARGUMENT to the caller.
var (
	// ErrMalformed: it is not one of ours, or was changed on the way.
	ErrMalformed = errors.New("the page token is not one that this service gave out; leave it empty for the first page")
	// ErrOtherQuery: it belongs to a query with other fields.
	ErrOtherQuery = errors.New("the page token belongs to another query: leave the other fields as they were, or begin anew without it")
)

var coding = base64.RawURLEncoding.Strict() // strict: one text for one token

// Encode makes a token for the page that begins behind key. query is every field of the request that decides what is
// listed, in one text; page_size is not one of them. An empty key makes the empty token: there is no next page.
func Encode(query, key string) string {
	if key == "" {
		return ""
	}
	q := sha256.Sum256([]byte(query))
	b := append([]byte{version}, q[:queryLen]...)
	b = append(b, key...)
	s := sha256.Sum256(b)
	return coding.EncodeToString(append(b, s[:sumLen]...))
}

// Decode gives the key of a token; the empty token is the first page, with an empty key. ErrMalformed; ErrOtherQuery.
func Decode(token, query string) (key string, err error) {
	if token == "" {
		return "", nil
	}
	if len(token) > maxLen || strings.ContainsAny(token, "\r\n") { // base64 reads over line ends
		return "", ErrMalformed
	}
	b, err := coding.DecodeString(token)
	if err != nil || len(b) <= 1+queryLen+sumLen || b[0] != version {
		return "", ErrMalformed
	}
	body, sum := b[:len(b)-sumLen], b[len(b)-sumLen:]
	if s := sha256.Sum256(body); !bytes.Equal(s[:sumLen], sum) {
		return "", ErrMalformed
	}
	if q := sha256.Sum256([]byte(query)); !bytes.Equal(q[:queryLen], body[1:1+queryLen]) {
		return "", ErrOtherQuery
	}
	return string(body[1+queryLen:]), nil
}
