package app_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// TestWrongFields: each request says all that is wrong with it, and does nothing.
func TestWrongFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	node := "nodes/" + uuid.NewString()
	huge := strings.Repeat("夜", 4<<20/3+1)
	for name, c := range map[string]struct {
		change func(q *agentv1.GenerateNodeRequest)
		fields []string
	}{
		"no flow":           {func(q *agentv1.GenerateNodeRequest) { q.Flow = "" }, []string{"flow"}},
		"no UUIDs":          {func(q *agentv1.GenerateNodeRequest) { q.Flow, q.Parent, q.RequestId = "flows/x", "nodes/../x", "7" }, []string{"flow", "parent", "request_id"}},
		"zero UUID":         {func(q *agentv1.GenerateNodeRequest) { q.Parent = "nodes/" + uuid.Nil.String() }, []string{"parent"}},
		"braces":            {func(q *agentv1.GenerateNodeRequest) { q.Parent = "nodes/{" + uuid.NewString() + "}" }, []string{"parent"}},
		"a node for a flow": {func(q *agentv1.GenerateNodeRequest) { q.Flow = node }, []string{"flow"}},
		"via":               {func(q *agentv1.GenerateNodeRequest) { q.Via = []string{node, "", "x"} }, []string{"via", "via[1]", "via[2]"}},
		"much via":          {func(q *agentv1.GenerateNodeRequest) { q.Parent, q.Via = node, slices.Repeat([]string{node}, 1001) }, []string{"via"}},
		"huge text":         {func(q *agentv1.GenerateNodeRequest) { q.Text = huge }, []string{"text"}},
		"two at once": {func(q *agentv1.GenerateNodeRequest) {
			q.Prompt, q.Text, q.Via, q.Story, q.PickSeed, q.BlockOrder, q.NoteHeader = "詩", "夜", []string{node}, &commonv1.Story{}, 1, 1, 1
			q.Parent, q.Build, q.EveryOption = node, &promptbuilderv1.BuildStoryRequest{}, true
		}, []string{"block_order", "build", "every_option", "note_header", "pick_seed", "story", "text", "via"}},
		"repeat of a plain prompt": {func(q *agentv1.GenerateNodeRequest) { q.Prompt, q.Repeat = "詩", 2 }, []string{"repeat"}},
		"several kinds of several": {func(q *agentv1.GenerateNodeRequest) {
			q.Variants, q.EveryOption, q.Repeat, q.SetCurrent = 2, true, 2, true
			q.Build = &promptbuilderv1.BuildStoryRequest{
				Sampler: promptbuilderv1.Sampler_SAMPLER_CYCLIC, Picks: []*promptbuilderv1.Pick{{Field: "body"}},
			}
		}, []string{"build.picks", "build.sampler", "every_option", "repeat", "set_current", "variants"}},
		"too few":             {func(q *agentv1.GenerateNodeRequest) { q.Variants = 1 }, []string{"variants"}},
		"negative":            {func(q *agentv1.GenerateNodeRequest) { q.Repeat = -1 }, []string{"repeat"}},
		"too many":            {func(q *agentv1.GenerateNodeRequest) { q.Variants = 9 }, []string{"variants"}},
		"too long":            {func(q *agentv1.GenerateNodeRequest) { q.Repeat = 51 }, []string{"repeat"}},
		"send_overflow alone": {func(q *agentv1.GenerateNodeRequest) { q.SendOverflow = true }, []string{"send_overflow"}},
		"build": {func(q *agentv1.GenerateNodeRequest) {
			q.Build = &promptbuilderv1.BuildStoryRequest{
				Backend: "b", Story: &commonv1.Story{}, Body: "b", BlockOrder: 1, NoteHeader: 1, Seed: 1, MaxTokens: 1, LenientBody: true,
				Sampling: &flowstorev1.Sampling{}, Picks: []*promptbuilderv1.Pick{{}},
			}
		}, []string{
			"build.backend", "build.block_order", "build.body", "build.lenient_body", "build.max_tokens", "build.note_header", "build.picks[0].field",
			"build.sampling", "build.seed", "build.story",
		}},
		"enums": {func(q *agentv1.GenerateNodeRequest) { q.BlockOrder, q.NoteHeader, q.OnDisconnect = 9, 9, 9 }, []string{"block_order", "note_header", "on_disconnect"}},
		"story": {func(q *agentv1.GenerateNodeRequest) {
			q.Story = &commonv1.Story{
				Title: proto.String(strings.Repeat("x", 64<<10+1)), Rating: proto.String("r20"),
				Keywords: slices.Repeat([]string{"x"}, 65), Genres: []string{"x", strings.Repeat("x", 1025)},
			}
		}, []string{"story.genres[1]", "story.keywords", "story.rating", "story.title"}},
		"a rating of COMPAT": {func(q *agentv1.GenerateNodeRequest) {
			q.Story = &commonv1.Story{Rating: proto.String("r20")}
			q.Build = &promptbuilderv1.BuildStoryRequest{Compatibility: promptbuilderv1.Compatibility_COMPATIBILITY_COMPAT, Body: "b"}
		}, []string{"build.body"}},
		"sampling": {func(q *agentv1.GenerateNodeRequest) {
			q.Sampling = &flowstorev1.Sampling{
				Temperature: proto.Float64(5.1), TopP: proto.Float64(math.NaN()), MinP: proto.Float64(-1), RepeatPenalty: proto.Float64(math.Inf(1)),
				TopK: proto.Int32(-1), MaxTokens: -1, Stop: []string{"", strings.Repeat("x", 257)},
			}
		}, []string{
			"sampling.max_tokens", "sampling.min_p", "sampling.repeat_penalty", "sampling.stop[0]", "sampling.stop[1]",
			"sampling.temperature", "sampling.top_k", "sampling.top_p",
		}},
		"many stops": {func(q *agentv1.GenerateNodeRequest) {
			q.Sampling = &flowstorev1.Sampling{Stop: slices.Repeat([]string{"x"}, 17)}
		}, []string{"sampling.stop"}},
		"backend": {func(q *agentv1.GenerateNodeRequest) { q.Backend = strings.Repeat("x", 257) }, []string{"backend"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := r.request("")
			c.change(q)
			got := r.all(q)
			r.is(got.err, codes.InvalidArgument, "INVALID_FIELD")
			var fields []string
			for _, v := range got.err.Violations {
				fields = append(fields, v.Field)
				if v.Description == "" || len(v.Description) > 200 {
					t.Errorf("description %.300q", v.Description)
				}
			}
			if !slices.Equal(fields, c.fields) {
				t.Errorf("fields %q, want %q", fields, c.fields)
			}
			if got := got.err.Violations[0].Description; name == "huge text" && got != "is 4194306 bytes long; the limit is 4194304 bytes (4 MiB)" {
				t.Errorf("description %q", got)
			}
		})
	}
	if len(r.flows.added()) != 0 || r.model.Calls("/completion") != 0 {
		t.Error("a refused request did something")
	}
}

func TestWrongNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	missing := "generations/" + uuid.NewString()
	for name, reason := range map[string]string{"": "INVALID_FIELD", "generations/x": "INVALID_FIELD", missing: "GENERATION_NOT_FOUND"} {
		_, get := r.agent.GetGeneration(t.Context(), &agentv1.GetGenerationRequest{Name: name})
		_, cancel := r.agent.CancelGeneration(t.Context(), &agentv1.CancelGenerationRequest{Name: name})
		stream, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{get, cancel} {
			if e, ok := apierr.FromStatus(err); !ok || e.Reason != reason {
				t.Errorf("%q: %v", name, err)
			}
		}
		if e := r.rest(stream).err; e.Reason != reason {
			t.Errorf("watching %q: %v", name, e)
		}
	}
	stream, err := r.agent.WatchGeneration(t.Context(), &agentv1.WatchGenerationRequest{Name: missing, After: -1})
	if err != nil {
		t.Fatal(err)
	}
	r.is(r.rest(stream).err, codes.InvalidArgument, "INVALID_FIELD")
}

// TestWhatOthersRefuse: what concerns the caller passes on under its own name, before the stream has begun.
func TestWhatOthersRefuse(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	wrong := &apierr.Error{Code: codes.InvalidArgument, Reason: "INVALID_FIELD", Message: "m", Violations: []apierr.Violation{
		{Field: "story.note", Description: "d"}, {Field: "max_tokens", Description: "d"},
	}}
	elsewhere := "nodes/" + uuid.NewString()
	for name, c := range map[string]struct {
		change   func(q *agentv1.GenerateNodeRequest)
		builder  error
		code     codes.Code
		reason   string
		metadata []string
	}{
		"no such flow":     {change: func(q *agentv1.GenerateNodeRequest) { q.Flow = "flows/" + uuid.NewString() }, code: codes.NotFound, reason: "FLOW_NOT_FOUND"},
		"parent elsewhere": {change: func(q *agentv1.GenerateNodeRequest) { q.Parent = elsewhere }, code: codes.FailedPrecondition, reason: "NOT_IN_FLOW", metadata: []string{"node", elsewhere}},
		"parent elsewhere, plain prompt": {change: func(q *agentv1.GenerateNodeRequest) { q.Parent, q.Prompt = elsewhere, "詩" },
			code: codes.FailedPrecondition, reason: "NOT_IN_FLOW", metadata: []string{"node", elsewhere}},
		"unknown backend": {change: func(q *agentv1.GenerateNodeRequest) { q.Backend = "nobody" }, code: codes.NotFound, reason: "UNKNOWN_BACKEND", metadata: []string{"known", "dead,tale"}},
		"dead backend": {change: func(q *agentv1.GenerateNodeRequest) { q.Backend = "dead" },
			code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: []string{"address", deadAddress, "backend", "dead"}},
		"dead backend, plain prompt": {change: func(q *agentv1.GenerateNodeRequest) { q.Backend, q.Prompt = "dead", "詩" },
			code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: []string{"address", deadAddress}},
		"too large": {builder: apierr.New(codes.FailedPrecondition, "CONTEXT_OVERFLOW", "m", "block.note", "7"),
			code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW", metadata: []string{"block.note", "7"}},
		"over the limit, not asked for": {
			change: func(q *agentv1.GenerateNodeRequest) {
				q.Build = &promptbuilderv1.BuildStoryRequest{OnOverflow: promptbuilderv1.OnOverflow_ON_OVERFLOW_RETURN}
			},
			code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW", metadata: []string{"block.note", "14"},
		},
		"fields":    {builder: wrong, code: codes.InvalidArgument, reason: "INVALID_FIELD"},
		"its fault": {builder: apierr.New(codes.Internal, "INTERNAL", "secret"), code: codes.Internal, reason: "INTERNAL"},
	} {
		t.Run(name, func(t *testing.T) {
			q := r.request("")
			if c.change != nil {
				c.change(q)
			}
			r.prompts.fail = c.builder
			got := r.all(q)
			r.is(got.err, c.code, c.reason, c.metadata...)
			if got.opened != nil || strings.Contains(got.err.Message, "secret") {
				t.Errorf("%+v", got)
			}
			if name == "fields" && (got.err.Violations[0].Field != "sampling.max_tokens" || got.err.Violations[1].Field != "story.note") {
				t.Errorf("violations %+v", got.err.Violations)
			}
			if c.code == codes.Internal && !slices.Equal(slices.Collect(maps.Keys(got.err.Metadata)), []string{"request_id"}) {
				t.Errorf("metadata %v", got.err.Metadata)
			}
		})
	}
	if r.model.Calls("/completion") != 0 {
		t.Error("the model was called")
	}
}

func TestTheSameIDForAnotherRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	q := r.request("夜")
	r.all(q)
	q.Text = "朝"
	r.is(r.all(q).err, codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id", q.RequestId)
}

// TestAllThatIsRefusedIsToldAtOnce, whoever refuses it: the agent sees the fields and the backend, promptbuilder the rest.
func TestAllThatIsRefusedIsToldAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{})
	r.prompts.fail = &apierr.Error{Code: codes.InvalidArgument, Reason: "INVALID_FIELD", Message: "m", Violations: []apierr.Violation{
		{Field: "preset", Description: "d"}, {Field: "max_tokens", Description: "d", Reason: "INVALID_BUDGET"},
	}}
	for variants, want := range map[int32]string{
		0:  "backend UNKNOWN_BACKEND, build.preset , sampling.max_tokens INVALID_BUDGET",
		99: "backend UNKNOWN_BACKEND, build.preset , sampling.max_tokens INVALID_BUDGET, variants ",
	} {
		q := r.request("夜")
		q.Backend, q.Variants, q.Build = "nobody", variants, &promptbuilderv1.BuildStoryRequest{Preset: "nope"}
		got := r.all(q)
		r.is(got.err, codes.InvalidArgument, "INVALID_FIELD")
		var fields []string
		for _, v := range got.err.Violations {
			fields = append(fields, v.Field+" "+v.Reason)
		}
		if got := strings.Join(fields, ", "); got != want {
			t.Errorf("%d variants: %s", variants, got)
		}
	}
}
