package generation_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// TestNodeIDIsForEver: stored nodes are found by it. Python: uuid.uuid5(uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "0").
func TestNodeIDIsForEver(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"6af613b6-569c-5c22-9c37-2ed93f31d3af", "b04965e6-a9bb-591f-8f8a-1adcb2c8dc39"} {
		if got := generation.NodeID(uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), n); got.String() != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestDigestIsOfWhatShapesTheNode: every field of a request enters its digest, but for how it is watched.
func TestDigestIsOfWhatShapesTheNode(t *testing.T) {
	t.Parallel()
	base := generation.Request{ID: uuid.New(), Flow: uuid.New(), Parent: uuid.New(), Text: "夜"}
	seen := map[string]string{base.Digest(): "base"}
	for name, change := range map[string]func(*generation.Request){
		"flow":          func(r *generation.Request) { r.Flow = uuid.New() },
		"parent":        func(r *generation.Request) { r.Parent = uuid.New() },
		"via":           func(r *generation.Request) { r.Via = []uuid.UUID{r.Flow} },
		"text":          func(r *generation.Request) { r.Text += "。" },
		"story":         func(r *generation.Request) { r.Story.Note = ptr("") },
		"prompt":        func(r *generation.Request) { r.Prompt = "夜" },
		"backend":       func(r *generation.Request) { r.Backend = "m" },
		"sampling":      func(r *generation.Request) { r.Sampling = llm.Sampling{TopK: ptr(0)} },
		"pick_seed":     func(r *generation.Request) { r.PickSeed = 1 },
		"block_order":   func(r *generation.Request) { r.BlockOrder = "TEXT_FIRST" },
		"note_header":   func(r *generation.Request) { r.NoteHeader = "LEGACY" },
		"build":         func(r *generation.Request) { r.Build = []byte{0x10, 1} },
		"send_overflow": func(r *generation.Request) { r.SendOverflow = true },
		"variants":      func(r *generation.Request) { r.Variants = 2 },
		"every_option":  func(r *generation.Request) { r.EveryOption = true },
		"repeat":        func(r *generation.Request) { r.Repeat = 2 },
		"set_current":   func(r *generation.Request) { r.SetCurrent = true },
	} {
		r := base
		change(&r)
		if other, taken := seen[r.Digest()]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[r.Digest()] = name
	}
	for name, change := range map[string]func(*generation.Request){
		"request id":    func(r *generation.Request) { r.ID = uuid.New() },
		"on_disconnect": func(r *generation.Request) { r.Continue = true },
	} {
		r := base
		change(&r)
		if r.Digest() != base.Digest() {
			t.Errorf("%s changes the digest", name)
		}
	}
}

// TestDigestsOfStoredNodesStay: a node that an older version stored is the answer to the same request.
func TestDigestsOfStoredNodesStay(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")
	r := generation.Request{ID: id, Flow: id, Text: "夜", Sampling: llm.Sampling{Temperature: ptr(0.8), TopK: ptr(40), MaxTokens: 60, Stop: []string{"。"}}}
	if got := r.Digest(); got != "bd1a987e3dbcc5b18e6d176204238d9e0247cb53bb598943ce59c3f6a077f68b" {
		t.Errorf("the digest of a request of 0.1 is %s", got)
	}
}
