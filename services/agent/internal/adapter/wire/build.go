package wire

import (
	"strings"

	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Built reads a story prompt. The reply is no longer the caller's.
func Built(b *promptbuilderv1.BuildStoryResponse) (generation.Built, error) {
	out := generation.Built{
		Prompt: b.GetPrompt(), Digest: b.GetDigest(), Task: strings.TrimPrefix(b.GetTask().String(), "STORY_TASK_"),
		Tokens: int(b.GetTokens()), MaxTokens: int(b.GetMaxTokens()), Suffix: int(b.GetSuffixCharacters()),
		Overflow: overflow(b), Picks: Picks(b.GetPicks()), Sampling: Sampling(b.GetHeld().GetSampling()), Stop: b.GetWrapping().GetStop(), Measured: Identity(b.GetBackend()),
	}
	for _, c := range b.GetCombinations() {
		out.Combinations = append(out.Combinations, Picks(c.GetPicks()))
	}
	out.More = b.GetMoreCombinations()
	if c := b.GetCut(); c != nil {
		out.Cut = &generation.Cut{
			Characters: int(c.GetCharacters()), Lines: int(c.GetLines()),
			KeptCharacters: int(c.GetKeptCharacters()), FirstKept: c.GetFirstKept(),
		}
	}
	b.Prompt, b.Cut = "", nil
	var err error
	out.Told, err = proto.Marshal(b)
	return out, err
}

// FromBuilt writes a story prompt with everything that promptbuilder said of it.
func FromBuilt(b generation.Built) (*promptbuilderv1.BuildStoryResponse, error) {
	out := &promptbuilderv1.BuildStoryResponse{}
	err := proto.Unmarshal(b.Told, out)
	out.Prompt = b.Prompt
	if c := b.Cut; c != nil {
		out.Cut = &promptbuilderv1.Cut{
			Characters: int32(c.Characters), Lines: int32(c.Lines),
			KeptCharacters: int32(c.KeptCharacters), FirstKept: c.FirstKept,
			KeptShare: float64(c.KeptCharacters) / float64(max(1, c.KeptCharacters+c.Characters)),
		}
	}
	return out, err
}

// overflow is what promptbuilder would have said of a prompt that is over the limit; nil of one that is not.
func overflow(b *promptbuilderv1.BuildStoryResponse) *llm.OverflowError {
	if !b.GetOverflow() {
		return nil
	}
	e := &llm.OverflowError{Limit: int(b.GetLimit()), Tokens: int(b.GetTokens()), MaxTokens: int(b.GetMaxTokens())}
	keep, kept := keeps[b.GetHeld().GetFit()]
	if !kept {
		keep.field = "text"
	}
	tokens := map[string]int{}
	for _, x := range b.GetBlocks() {
		e.Blocks = append(e.Blocks, llm.BlockSize{Kind: strings.ToLower(strings.TrimPrefix(x.GetKind().String(), "BLOCK_KIND_")), Tokens: int(x.GetTokens())})
		switch field := givenBy[x.GetKind()]; {
		case x.GetKind() == promptbuilderv1.BlockKind_BLOCK_KIND_SUFFIX: // it has the closing marks too
			tokens[keep.field] += int(x.GetTokens()) * int(b.GetSuffixCharacters()) / max(1, int(x.GetCharacters()))
		case field == "body":
			tokens[keep.field] += int(x.GetTokens())
		case field != "":
			tokens[field] += int(x.GetTokens())
		}
	}
	if e.MakeRoom(tokens); e.Field == keep.field && kept {
		e.Wish = keep.wish
	}
	return e
}

// keeps says where a request mends that its text is kept whatever the window has room for.
var keeps = map[promptbuilderv1.Fit]struct{ field, wish string }{
	promptbuilderv1.Fit_FIT_NONE:      {"build.fit", "must be FIT_LINES, which cuts as much of the text as the window asks for"},
	promptbuilderv1.Fit_FIT_CHAR_TRIM: {"build.max_main_text_chars", "must be smaller; or build.fit must be FIT_LINES, which cuts as much of the text as the window asks for"},
}

// givenBy says from which field of a GenerateNodeRequest a block is made, where it is from one; "body" is the text of the path.
var givenBy = map[promptbuilderv1.BlockKind]string{
	promptbuilderv1.BlockKind_BLOCK_KIND_REFERENCE: "story", promptbuilderv1.BlockKind_BLOCK_KIND_NOTE: "story",
	promptbuilderv1.BlockKind_BLOCK_KIND_MEMORY: "build.memory", promptbuilderv1.BlockKind_BLOCK_KIND_SUMMARY: "build.summary",
	promptbuilderv1.BlockKind_BLOCK_KIND_BODY: "body", promptbuilderv1.BlockKind_BLOCK_KIND_TAIL: "body",
}

// Picks reads what was taken of groups.
func Picks(all []*promptbuilderv1.Pick) []generation.Pick {
	var out []generation.Pick
	for _, x := range all {
		p := generation.Pick{Field: x.GetField(), Group: int(x.GetGroup()), Text: x.GetText()}
		for _, o := range x.GetOptions() {
			p.Options = append(p.Options, int(o))
		}
		out = append(out, p)
	}
	return out
}

// FromPicks writes what is to be taken of groups.
func FromPicks(all []generation.Pick) []*promptbuilderv1.Pick {
	var out []*promptbuilderv1.Pick
	for _, x := range all {
		p := &promptbuilderv1.Pick{Field: x.Field, Group: int32(x.Group), Option: -1, Text: x.Text}
		for _, o := range x.Options {
			p.Options = append(p.Options, int32(o))
		}
		out = append(out, p)
	}
	return out
}
