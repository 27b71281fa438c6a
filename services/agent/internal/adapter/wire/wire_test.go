package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// TestNothingIsLostOnTheWire: a node that was written and read is the same node, every field of it.
func TestNothingIsLostOnTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		number := rapid.IntRange(0, 1<<31-1)
		// The wire has seconds as float64: exact for microseconds of some hours.
		span := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 1e10).Draw(t, "us")) * time.Microsecond
		})
		float := rapid.Ptr(rapid.Float64Range(0, 10), true)
		n := generation.Node{
			ID: uuid.New(), Created: time.UnixMicro(int64(number.Draw(t, "created"))).UTC(),
			Texts: []generation.NodeText{{
				Role: "assistant", Content: text.Draw(t, "content"), Tokens: number.Draw(t, "tokens"),
				Duration: span.Draw(t, "duration"), Rate: rapid.Float64Range(0, 1e6).Draw(t, "rate"),
			}},
			Model: text.Draw(t, "model"), Tags: []string{text.Draw(t, "tag")},
			Record: &generation.Record{
				Backend:      llm.Identity{Backend: "b", Kind: "k", Address: "a", Model: "m", Window: number.Draw(t, "window"), Tokenizer: "t"},
				PromptDigest: "d", Task: "CONT_INFO", PickSeed: rapid.Uint32().Draw(t, "pick seed"), Picks: []string{"story.note#0=1"},
				Sampling: llm.Sampling{
					Temperature: float.Draw(t, "temperature"), TopP: float.Draw(t, "top_p"), MinP: float.Draw(t, "min_p"),
					RepeatPenalty: float.Draw(t, "penalty"), TopK: rapid.Ptr(number, true).Draw(t, "top_k"),
					Seed: rapid.Ptr(rapid.Uint32(), true).Draw(t, "seed"), MaxTokens: number.Draw(t, "max"), Stop: []string{"。"},
				},
				PromptTokens: number.Draw(t, "prompt"), CachedTokens: number.Draw(t, "cached"), AnswerTokens: number.Draw(t, "answer"),
				PromptTime: span.Draw(t, "prompt time"), AnswerTime: span.Draw(t, "answer time"),
				Finish: "stop", Branch: text.Draw(t, "branch"), Fault: llm.Fault(text.Draw(t, "fault")), Error: text.Draw(t, "error"), RequestDigest: "r",
			},
		}
		got, err := wire.Node(wire.FromNode(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestStoryKeepsWhatIsAbsent(t *testing.T) {
	t.Parallel()
	for _, s := range []generation.Story{
		{},
		{Title: proto.String(""), Rating: proto.String("r18"), Keywords: []string{"雨"}},
		{
			Title: proto.String("a"), Synopsis: proto.String("b"), Setting: proto.String("c"), Plot: proto.String("d"),
			Note: proto.String("e"), DialogueLevel: proto.String("f"), Rating: proto.String("g"), Keywords: []string{"h"}, Genres: []string{"i"},
		},
	} {
		if diff := cmp.Diff(s, wire.Story(wire.FromStory(s))); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(generation.Story{}, wire.Story(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")
	for _, name := range []string{"nodes/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41", "nodes/0192F0C1-7D3A-7C52-9B1E-3F6A5C0D2E41"} {
		if got, err := wire.ParseName(wire.Nodes, name); err != nil || got != id {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got := wire.Name(wire.Nodes, id); got != "nodes/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41" {
		t.Error(got)
	}
	if got := wire.Name(wire.Nodes, uuid.Nil); got != "" {
		t.Error(got)
	}
	for _, name := range []string{
		"", "nodes/", "nodes/x", "flows/" + id.String(), id.String(), "nodes/" + id.String() + "/x", "nodes/{" + id.String() + "}",
		"nodes/urn:uuid:" + id.String(), "nodes/0192f0c17d3a7c529b1e3f6a5c0d2e41", "nodes/" + uuid.Nil.String(),
	} {
		if got, err := wire.ParseName(wire.Nodes, name); err == nil {
			t.Errorf("%q is taken for %s", name, got)
		}
	}
}

// TestOverflowIsToldAsPromptbuilderWould: the blocks by its names, and all that makes room; a text that is kept whatever the
// window has room for is mended where the request says so.
func TestOverflowIsToldAsPromptbuilderWould(t *testing.T) {
	t.Parallel()
	const none, trim, lines = promptbuilderv1.Fit_FIT_NONE, promptbuilderv1.Fit_FIT_CHAR_TRIM, promptbuilderv1.Fit_FIT_LINES
	for name, tt := range map[string]struct {
		fit                         promptbuilderv1.Fit
		story, memory, text, suffix int32
		want, wish                  string
	}{
		"nothing is cut":      {none, 10, 0, 90, 5, "build.fit", "FIT_LINES"},
		"characters are kept": {trim, 10, 0, 90, 5, "build.max_main_text_chars", "FIT_LINES"},
		"the story is larger": {none, 95, 0, 90, 5, "story", ""},
		"lines were cut":      {lines, 10, 0, 90, 5, "text", ""},
		"marks alone":         {none, 10, 0, 90, 0, "", ""},
		"two together":        {lines, 30, 25, 90, 0, "story", "together with build.memory, by about 50 tokens"},
		"not even together":   {lines, 30, 20, 90, 0, "", ""},
	} {
		built, err := wire.Built(&promptbuilderv1.BuildStoryResponse{
			Overflow: true, Tokens: 100, Limit: 50, SuffixCharacters: tt.suffix, Held: &promptbuilderv1.Preset{Fit: tt.fit},
			Blocks: []*promptbuilderv1.Block{
				{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_REFERENCE, Tokens: tt.story}, {Kind: promptbuilderv1.BlockKind_BLOCK_KIND_MEMORY, Tokens: tt.memory},
				{Kind: promptbuilderv1.BlockKind_BLOCK_KIND_SUFFIX, Tokens: tt.text, Characters: max(tt.suffix, 3)},
			},
		})
		e := built.Overflow
		if err != nil || e == nil || e.Field != tt.want || !strings.Contains(e.Wish, tt.wish) || tt.wish == "" && e.Wish != "" {
			t.Errorf("%s: %+v of %v, want the field %q", name, e, err, tt.want)
			continue
		}
		if e.Blocks[0] != (llm.BlockSize{Kind: "reference", Tokens: int(tt.story)}) {
			t.Errorf("%s: blocks %v", name, e.Blocks)
		}
	}
}
