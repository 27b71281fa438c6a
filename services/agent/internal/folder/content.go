package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"
)

// Bounds of content and counts.
const (
	// MaxContent is the size of a file that is read or written whole, in bytes.
	MaxContent = 10 << 20
	// MaxHashed is the size of a file that is deleted or moved, which is read for its hash, in bytes.
	MaxHashed = 256 << 20
	// MaxDiff is the size of a content that a diff is made of, in bytes; above it hashes and sizes are shown (field/review-agent.md S23).
	MaxDiff = 4 << 20
	// MaxChanges is how many changes are planned at once.
	MaxChanges = 64
	// MaxEntries is how many entries a list gives at once.
	MaxEntries = 1000
	// MaxNames is how many names of a folder are looked at.
	MaxNames = 100_000
)

// Hash is the SHA-256 of a content in hex, Absent, or empty where it is not known. Of a link it is that of LinkHash.
type Hash string

// Absent is the hash of nothing there.
const Absent Hash = "absent"

// Of gives the hash of a content.
func Of(content []byte) Hash { return Sum(sha256.Sum256(content)) }

// LinkHash gives the hash of a symbolic link, which no file has but by design.
func LinkHash(target string) Hash { return Of([]byte("symbolic link\x00" + target)) }

// Sum gives a finished sum as a hash.
func Sum(sum [sha256.Size]byte) Hash { return Hash(hex.EncodeToString(sum[:])) }

// CheckText refuses what is no text to read or write: more than MaxContent bytes, not UTF-8, or with a NUL.
func CheckText(name string, content []byte) error {
	if len(content) > MaxContent {
		return TooLong(name, int64(len(content)), MaxContent)
	}
	if why := notText(content); why != "" {
		return refuse(NotText, name, "its content "+why+", so that it is no text")
	}
	return nil
}

// TooLong is the refusal of a file over a bound.
func TooLong(name string, size, most int64) error {
	return refuse(TooLarge, name, fmt.Sprintf("it has %d bytes, at most %d", size, most))
}

func notText(content []byte) string {
	if at := bytes.IndexByte(content, 0); at >= 0 {
		return fmt.Sprintf("has a NUL at byte %d", at)
	}
	if utf8.Valid(content) {
		return ""
	}
	at := 0
	for at < len(content) {
		r, size := utf8.DecodeRune(content[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fmt.Sprintf("is not UTF-8 at byte %d", at)
}
