// Package token is the bearer tokens of people and programs: how one looks, what a file of them says, and the file that is
// followed while a service runs.
//
// A token reads `tsumugi_<id>_<secret>`. Its secret has 256 random bits and is shown once, when it is made; the file holds a salted hash of it. A
// plain hash is enough: what makes passwords guessable, that people choose them, is not there, and a slow one would be a way to keep a server
// busy. The id is no secret: it finds the token, and stands in logs.
package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"time"
)

// Role is what the bearer of a token may do.
type Role string

// The roles. None includes another.
const (
	// User calls everything in the namespace of the token, but what is kept for the others.
	User Role = "user"
	// Approver decides what an agent may do.
	Approver Role = "approver"
	// Admin may loosen rules.
	Admin Role = "admin"
	// Service is for a program of ours that calls another one: it says itself in which namespace and for whom. A token
	// with it has no other role and no namespace.
	Service Role = "service"
)

// Roles are all roles, in the order in which they are told.
func Roles() []Role { return []Role{User, Approver, Admin, Service} }

const (
	prefix      = "tsumugi_"
	idBytes     = 6
	secretBytes = 32
	saltBytes   = 16
)

// MaxBytes is the length of the longest token.
const MaxBytes = len(prefix) + maxIDBytes + 1 + 2*secretBytes

const maxIDBytes = 32

// form is how a token looks. An id has no underscore, so there is one way to read it.
var form = regexp.MustCompile(`^` + prefix + `([a-z0-9]{4,32})_([0-9a-f]{64})$`)

// Token is what the file says of a token. It holds no secret.
type Token struct {
	// ID finds the token: 4 to 32 of a to z and 0 to 9.
	ID string
	// Name is the person who has it, or the program. Two tokens with one name are one person.
	Name string
	// Namespace is where the bearer acts; empty for Service.
	Namespace string
	Roles     []Role
	// Created is when it was made. From Expires on it is refused; zero: never.
	Created, Expires time.Time
	// Session, `sessions/{uuid}`, binds the token to a session of the agent: whoever has it is that session, and can decide nothing.
	Session string

	salt, hash []byte
}

// Has says whether the token has a role.
func (t Token) Has(r Role) bool { return slices.Contains(t.Roles, r) }

// Mint gives t an id, a salt and a secret, and returns what its bearer shows. It is nowhere else: the caller tells it once.
func Mint(t *Token) (shown string) {
	var id [idBytes]byte
	var secret [secretBytes]byte
	t.salt = make([]byte, saltBytes)
	for _, b := range [][]byte{id[:], secret[:], t.salt} {
		rand.Read(b) // never fails: the program ends where the system has no randomness
	}
	t.ID = hex.EncodeToString(id[:])
	text := hex.EncodeToString(secret[:])
	t.hash = digest(t.salt, text)
	return prefix + t.ID + "_" + text
}

func digest(salt []byte, secret string) []byte {
	h := hmac.New(sha256.New, salt)
	h.Write([]byte(secret))
	return h.Sum(nil)
}

// Reasons why what was shown is no token that holds. They never hold any of it.
var (
	// ErrForm is what does not look like a token of ours.
	ErrForm = errors.New("it does not read tsumugi_<id>_<secret>")
	// ErrUnknown is a token that is not in the file: never made, mistyped or revoked.
	ErrUnknown = errors.New("it is not known here: mistyped, or revoked")
	// ErrExpired is a right token whose time is over.
	ErrExpired = errors.New("its time is over")
)

// split takes a token apart.
func split(shown string) (id, secret string, err error) {
	if len(shown) > MaxBytes {
		return "", "", ErrForm
	}
	parts := form.FindStringSubmatch(shown)
	if parts == nil {
		return "", "", ErrForm
	}
	return parts[1], parts[2], nil
}

// ID is the id in what looks like a token, for a log; empty where it does not. Whoever showed it may have made it up.
func ID(shown string) string {
	id, _, _ := split(shown)
	return id
}

// set is the tokens of a file by id.
type set map[string]*Token

// decoy is compared with where an id is not known. No secret has its hash.
var decoy = Token{salt: make([]byte, saltBytes), hash: make([]byte, sha256.Size)}

// match finds the token of an id and compares the secret. It does the same work for an id that is not known, and how
// long that takes says nothing of the hash.
func (s set) match(id, secret string) (*Token, bool) {
	t, known := s[id]
	if !known {
		t = &decoy
	}
	same := subtle.ConstantTimeCompare(digest(t.salt, secret), t.hash) == 1
	return t, known && same
}

// expired says whether the time of t is over.
func (t Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }
