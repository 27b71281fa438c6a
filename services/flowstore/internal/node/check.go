package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/check"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// Limits of a node. Together they keep an answer with a whole node below the largest message
// (grpcserver.MinMessageBytes).
const (
	// MaxTexts is the most texts of a node, MaxText the longest of them and MaxAllTexts all together, in bytes. What hands put into
	// a file may be longer: it is read, up to format.MaxFile, and given in parts.
	MaxTexts    = 1000
	MaxText     = 4 << 20
	MaxAllTexts = 8 << 20
	// MaxTags is the most tags, MaxTag the longest, in bytes.
	MaxTags = 64
	MaxTag  = 256
	// MaxLabel is the longest of the short texts: a model, an address, a digest. In bytes.
	MaxLabel = 1 << 10
	// MaxPicks is the most drawn options, MaxPick the longest, which holds the numbers of 1,000 options of one group, and
	// MaxAllPicks all of them together, in bytes.
	MaxPicks    = 1000
	MaxPick     = 8 << 10
	MaxAllPicks = 256 << 10
	// MaxStops is the most stop strings, MaxStop the longest, in bytes: 16 of the request and 16 of the prompt's form, of
	// which a mark may have 1 KiB.
	MaxStops = 32
	MaxStop  = 1 << 10
	// MaxError is the longest sentence that says why an answer is not whole, in bytes.
	MaxError = 4 << 10
	// MinScore and MaxScore are the ends of every scale of scores: percents, stars, thumbs (-1 and 1) and ranks have room.
	MinScore = -1000
	MaxScore = 1000
	// MaxNote is the longest note, MaxSummary the longest summary, in bytes.
	MaxNote    = 64 << 10
	MaxSummary = 64 << 10
	// MaxSize is the largest node that is sent, by Size. Only one that was made by hand can be larger.
	MaxSize = 12 << 20
)

// Roles are who may speak (seed 004, 4.2; field/flowstore.md row 28).
var Roles = []string{"user", "assistant", "system", "tool"}

// Commas are what no tag holds: tags are listed with any of these between them (field/flowstore.md row 27).
const Commas = ",，、"

// Check finds everything that is wrong with a node that somebody wants to store. What is missing altogether is not its
// business.
func (n Node) Check() []check.Violation {
	l := &check.List{}
	checkTexts(l, n.Texts)
	l.Bytes("model", n.Model, MaxLabel)
	l.Items("tags", len(n.Tags), MaxTags)
	for i, tag := range n.Tags {
		field := fmt.Sprintf("tags[%d]", i)
		l.Bytes(field, tag, MaxTag)
		if tag == "" {
			l.Add(field, "is empty")
		}
		if strings.ContainsAny(tag, Commas) {
			l.Add(field, "holds a comma; give each tag an item of its own")
		}
	}
	if n.Generation != nil {
		checkGeneration(l, n.Generation)
	}
	l.Bytes("summary.text", n.Summary.Text, MaxSummary)
	if s := n.Score; s != nil && !(*s >= MinScore && *s <= MaxScore) {
		l.Add("score", "is %v; it must be a number from %d to %d", *s, MinScore, MaxScore)
	}
	l.Bytes("note", n.Note, MaxNote)
	return l.Found
}

func checkTexts(l *check.List, texts []Text) {
	l.Items("texts", len(texts), MaxTexts)
	all := 0
	for i, t := range texts {
		field := fmt.Sprintf("texts[%d].", i)
		if t.Role != "" && !slices.Contains(Roles, t.Role) {
			l.Add(field+"role", "must be one of %s", strings.Join(Roles, ", "))
		}
		if n := len(t.Content); n > MaxText {
			l.Add(field+"content", "is %d bytes long; the limit is %d bytes (%d MiB): give the node several texts of this role, together at most %d MiB, or go on in another node",
				n, MaxText, MaxText>>20, MaxAllTexts>>20)
		}
		l.Positive(field+"token_count", float64(t.Count))
		l.Positive(field+"duration_seconds", t.Duration)
		l.Positive(field+"tokens_per_second", t.Rate)
		all += len(t.Content)
	}
	l.Total("texts", all, MaxAllTexts)
}

func checkGeneration(l *check.List, g *Generation) {
	for field, text := range g.labels() {
		l.Bytes("generation."+field, text, MaxLabel)
	}
	l.Bytes("generation.error", g.Error, MaxError)
	l.Items("generation.picks", len(g.Picks), MaxPicks)
	all := 0
	for i, pick := range g.Picks {
		l.Bytes(fmt.Sprintf("generation.picks[%d]", i), pick, MaxPick)
		all += len(pick)
	}
	l.Total("generation.picks", all, MaxAllPicks)
	l.Positive("generation.backend.window", float64(g.Window))
	l.Positive("generation.prompt_tokens", float64(g.PromptTokens))
	l.Positive("generation.cached_tokens", float64(g.CachedTokens))
	l.Positive("generation.answer_tokens", float64(g.AnswerTokens))
	l.Positive("generation.prompt_seconds", g.PromptSeconds)
	l.Positive("generation.answer_seconds", g.AnswerSeconds)
	if g.Sampling != nil {
		checkSampling(l, g.Sampling)
	}
}

// labels goes through the short texts by their field in the contract.
func (g *Generation) labels() func(yield func(field, text string) bool) {
	return func(yield func(field, text string) bool) {
		_ = yield("backend.backend", g.Backend) && yield("backend.kind", g.Kind) && yield("backend.address", g.Address) &&
			yield("backend.model", g.Model) && yield("backend.tokenizer", g.Tokenizer) && yield("prompt_digest", g.PromptDigest) &&
			yield("task", g.Task) && yield("finish_reason", g.Finish) && yield("fault", g.Fault) &&
			yield("branch", g.Branch) && yield("request_digest", g.RequestDigest)
	}
}

func checkSampling(l *check.List, s *sampling.Sampling) {
	const field = "generation.sampling."
	s.Check(func(name, format string, args ...any) { l.Add(field+name, format, args...) })
	l.Positive(field+"max_tokens", float64(s.MaxTokens))
	l.Items(field+"stop", len(s.Stop), MaxStops)
	for i, stop := range s.Stop {
		l.Bytes(fmt.Sprintf("%sstop[%d]", field, i), stop, MaxStop)
	}
}

// Size is about how many bytes a node takes in a message.
func (n Node) Size() int {
	const overhead = 64
	size := 5*overhead + len(n.Model) + len(n.Summary.Text) + len(n.Note)
	for _, warning := range n.Warnings {
		size += overhead + len(warning)
	}
	for _, t := range n.Texts {
		size += overhead + len(t.Role) + len(t.Content)
	}
	for _, tag := range n.Tags {
		size += overhead + len(tag)
	}
	if g := n.Generation; g != nil {
		size += 4*overhead + len(g.Error)
		for _, text := range g.labels() {
			size += len(text)
		}
		for _, pick := range g.Picks {
			size += overhead + len(pick)
		}
		if g.Sampling != nil {
			size += samplingSize(g.Sampling, overhead)
		}
	}
	return size
}

func samplingSize(s *sampling.Sampling, overhead int) int {
	size := 4*overhead + len(s.Grammar) + len(s.LogitBias)*overhead
	for _, stop := range s.Stop {
		size += overhead + len(stop)
	}
	if s.DRY != nil {
		for _, b := range s.DRY.Breakers {
			size += overhead + len(b)
		}
	}
	return size
}
