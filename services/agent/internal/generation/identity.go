package generation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// NodeID gives the id of the node, and of the generation, of one answer that a request asks for, from 0: UUIDv5 of that
// number in the namespace that the request id is. So the nodes of a request can be asked for before they are made, and it
// makes each only once.
func NodeID(request uuid.UUID, answer int) uuid.UUID {
	return uuid.NewSHA1(request, []byte(strconv.Itoa(answer)))
}

// MaxCuts is how often what came of one answer is kept. A request whose answer was cut so often is refused.
const MaxCuts = 100

// cutID gives the id of the node that keeps what came of an answer that was cut, once more for each time, from 0 to
// below MaxCuts. The id of the answer stays free for the whole of it, which the same request makes.
func cutID(answer uuid.UUID, cut int) uuid.UUID {
	return uuid.NewSHA1(answer, []byte("cut "+strconv.Itoa(cut)))
}

// seedOf is the seed of a request that names none: the first four bytes of UUIDv5 of `seed` in the namespace that the
// request id is. So it is the same after a restart, for the answers that are still missing.
func seedOf(request uuid.UUID) uint32 {
	id := uuid.NewSHA1(request, []byte("seed"))
	return binary.BigEndian.Uint32(id[:4])
}

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
		Variants               int    `json:",omitempty"`
		EveryOption            bool   `json:",omitempty"`
		Repeat                 int    `json:",omitempty"`
		Chat                   *Chat  `json:",omitempty"`
	}{
		r.Flow, r.Parent, r.Via, r.Text, r.Story, r.Prompt, r.Backend, r.Sampling, r.PickSeed, r.BlockOrder, r.NoteHeader, r.SetCurrent,
		r.Build, r.SendOverflow, r.Variants, r.EveryOption, r.Repeat, r.Chat,
	})
	return digest(string(text))
}

// digest is the SHA-256 of a text, in hex.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
