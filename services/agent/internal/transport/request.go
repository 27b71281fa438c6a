package transport

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Limits of a request, in bytes where they are not counts.
const (
	maxText      = 4 << 20
	maxVia       = 1000
	maxBackend   = 256
	maxStop      = 16
	maxStopText  = 256
	maxStoryText = 64 << 10
	maxItems     = 64
	maxItem      = 1 << 10
)

// parse reads a request and finds everything that can be seen to be wrong with it.
func parse(q *agentv1.GenerateNodeRequest, l generation.Limits) (generation.Request, *apierr.Fields) {
	f := &apierr.Fields{}
	f.Required(q)
	r := generation.Request{
		ID:     requestID(f, q.GetRequestId()),
		Flow:   flow(f, q),
		Parent: id(f, "parent", wire.Nodes, q.GetParent()),
		Via:    via(f, q),
		Text:   q.GetText(), Story: wire.Story(q.GetStory()), Prompt: q.GetPrompt(), Backend: q.GetBackend(),
		Sampling: wire.Sampling(q.GetSampling()), PickSeed: q.GetPickSeed(),
		BlockOrder: enum(f, "block_order", q.GetBlockOrder(), "BLOCK_ORDER_"),
		NoteHeader: enum(f, "note_header", q.GetNoteHeader(), "NOTE_HEADER_"),
		SetCurrent: q.GetSetCurrent(), Build: build(f, q), SendOverflow: q.GetSendOverflow(),
		Chat: chat(f, q), Variants: int(q.GetVariants()), EveryOption: q.GetEveryOption(), Repeat: int(q.GetRepeat()),
		Continue: enum(f, "on_disconnect", q.GetOnDisconnect(), "ON_DISCONNECT_") == "CONTINUE",
	}
	f.Size("text", q.GetText(), maxText)
	f.Size("prompt", q.GetPrompt(), maxText)
	f.Size("backend", q.GetBackend(), maxBackend)
	checkAlone(f, q)
	checkSeveral(f, q, l)
	checkStory(f, q.GetStory(), q.GetBuild().GetCompatibility() == promptbuilderv1.Compatibility_COMPATIBILITY_COMPAT)
	checkSampling(f, q.GetSampling())
	return r, f
}

// flow reads the flow. Only a dry run may be of a text that is in none.
func flow(f *apierr.Fields, q *agentv1.GenerateNodeRequest) uuid.UUID {
	if q.GetFlow() == "" && !q.GetDryRun() {
		f.Add("flow", "is required, but for dry_run")
	}
	if q.GetFlow() == "" && q.GetParent() != "" {
		f.Add("parent", "only together with flow")
	}
	return id(f, "flow", wire.Flows, q.GetFlow())
}

// id reads a resource name; empty is the zero UUID.
func id(f *apierr.Fields, field, collection, name string) uuid.UUID {
	if name == "" {
		return uuid.Nil
	}
	id, err := wire.ParseName(collection, name)
	if err != nil {
		f.Add(field, "%v", err)
	}
	return id
}

func requestID(f *apierr.Fields, text string) uuid.UUID {
	if text == "" {
		return uuid.Nil
	}
	id, err := wire.ID(text)
	if err != nil {
		f.Add("request_id", "%v", err)
	}
	return id
}

func via(f *apierr.Fields, q *agentv1.GenerateNodeRequest) []uuid.UUID {
	if n := len(q.GetVia()); n > 0 && n <= maxVia && q.GetParent() == "" {
		f.Add("via", "only together with parent")
	}
	return nodes(f, "via", q.GetVia(), maxVia)
}

// enum gives the name of a value without its prefix, empty for the unspecified one.
func enum(f *apierr.Fields, field string, value protoreflect.Enum, prefix string) string {
	v := value.Descriptor().Values().ByNumber(value.Number())
	switch {
	case v == nil:
		f.Add(field, "has no value %d", value.Number())
		return ""
	case value.Number() == 0:
		return ""
	}
	return strings.TrimPrefix(string(v.Name()), prefix)
}

// checkAlone finds what a prompt of the caller's own would leave without effect.
func checkAlone(f *apierr.Fields, q *agentv1.GenerateNodeRequest) {
	if q.GetPrompt() == "" || q.GetChat() != nil { // with chat the prompt is refused
		return
	}
	for _, c := range []struct {
		field string
		given bool
	}{
		{"via", len(q.GetVia()) > 0},
		{"text", q.GetText() != ""},
		{"story", q.GetStory() != nil},
		{"pick_seed", q.GetPickSeed() != 0},
		{"block_order", q.GetBlockOrder() != 0},
		{"note_header", q.GetNoteHeader() != 0},
		{"build", q.GetBuild() != nil},
		{"every_option", q.GetEveryOption()},
		{"repeat", q.GetRepeat() != 0},
	} {
		if c.given {
			f.Add(c.field, "not together with prompt, which is sent as it is")
		}
	}
}

// checkStory finds what is wrong with the story fields; by the rules of COMPAT a rating may be any word.
func checkStory(f *apierr.Fields, s *commonv1.Story, compat bool) {
	for _, t := range []struct{ field, text string }{
		{"title", s.GetTitle()}, {"synopsis", s.GetSynopsis()}, {"setting", s.GetSetting()}, {"plot", s.GetPlot()},
		{"note", s.GetNote()}, {"dialogue_level", s.GetDialogueLevel()},
	} {
		f.Size("story."+t.field, t.text, maxStoryText)
	}
	checkItems(f, "story.keywords", s.GetKeywords())
	checkItems(f, "story.genres", s.GetGenres())
	if r := s.GetRating(); !compat && r != "" && r != "general" && r != "r18" {
		f.Add("story.rating", `must be "general", "r18" or empty for the default, and is %.20q`, r)
	}
}

func checkItems(f *apierr.Fields, field string, items []string) {
	if len(items) > maxItems {
		f.Add(field, "has %d items; the limit is %d", len(items), maxItems)
		return
	}
	for i, item := range items {
		f.Size(fmt.Sprintf("%s[%d]", field, i), item, maxItem)
	}
}

func checkSampling(f *apierr.Fields, s *flowstorev1.Sampling) {
	if s == nil {
		return
	}
	wire.Sampling(s).Check(func(field, format string, args ...any) { f.Add("sampling."+field, format, args...) })
	if s.GetMaxTokens() < 0 {
		f.Add("sampling.max_tokens", "must be 0 for the default, or positive, is %d", s.GetMaxTokens())
	}
	if n := len(s.GetStop()); n > maxStop {
		f.Add("sampling.stop", "has %d items; the limit is %d", n, maxStop)
		return
	}
	for i, stop := range s.GetStop() {
		field := fmt.Sprintf("sampling.stop[%d]", i)
		if stop == "" {
			f.Add(field, "must not be empty: every text begins with it")
		}
		f.Size(field, stop, maxStopText)
	}
}
