package generation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// NodeID gives the id of the node, and of the generation, that a request makes: UUIDv5 of the name `0` in the namespace
// that the request id is. So the node of a request can be asked for before it is made, and a request makes only one;
// variants of one request would be `1`, `2` and so on.
func NodeID(request uuid.UUID) uuid.UUID { return uuid.NewSHA1(request, []byte("0")) }

// Digest is a SHA-256, in hex, of everything that shapes the node. Two requests with one id and different digests are not
// the same request. How the caller watches (Continue) does not enter it. A field that is added here must leave the digest
// of requests without it as it was: stored nodes carry it.
func (r Request) Digest() string {
	// Plain values: nothing in it can fail.
	text, _ := json.Marshal(struct {
		Flow, Parent           uuid.UUID
		Via                    []uuid.UUID
		Text                   string
		Story                  Story
		Prompt, Backend        string
		Sampling               llm.Sampling
		PickSeed               uint32
		BlockOrder, NoteHeader string
		SetCurrent             bool
		Build                  []byte `json:",omitempty"`
		SendOverflow           bool   `json:",omitempty"`
	}{
		r.Flow, r.Parent, r.Via, r.Text, r.Story, r.Prompt, r.Backend, r.Sampling, r.PickSeed, r.BlockOrder, r.NoteHeader, r.SetCurrent,
		r.Build, r.SendOverflow,
	})
	return digest(string(text))
}

// digest is the SHA-256 of a text, in hex.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
