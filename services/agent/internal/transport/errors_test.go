package transport

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

var (
	uid  = uuid.MustParse("0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")
	node = "nodes/" + uid.String()
	dead = &llm.Error{Fault: llm.FaultCut, Backend: "gemma", Address: "http://m", Message: "it broke off"}
)

// answers are every error of packages generation, nodecontext and summary, and what the caller gets for it.
var answers = []struct {
	err    error
	code   codes.Code
	reason string
	meta   string
}{
	{&generation.NotFoundError{ID: uid}, codes.NotFound, "GENERATION_NOT_FOUND", "generation=generations/" + uid.String()},
	{&generation.RefusedError{Reasons: []error{&generation.NotFoundError{ID: uid}}}, codes.NotFound, "GENERATION_NOT_FOUND", "generation=generations/" + uid.String()},
	{&generation.ViaError{Via: []uuid.UUID{uid}, Wrong: []int{0}}, codes.InvalidArgument, "INVALID_FIELD", ""},
	{&generation.OptionsError{Count: 17, Limit: 16}, codes.InvalidArgument, "INVALID_FIELD", "limit=16"},
	{&generation.OptionsError{Count: 3, More: true, Limit: 16, Large: true}, codes.InvalidArgument, "INVALID_FIELD", "limit=16"},
	{&generation.PicksError{Field: "body", Count: 1001}, codes.InvalidArgument, "INVALID_FIELD", "count=1001"},
	{&generation.AmbiguousError{Node: uid, Parents: []uuid.UUID{uid, uid}}, codes.FailedPrecondition, "AMBIGUOUS_PATH", "parents=" + node + "," + node},
	{&generation.UnreadableError{Node: uid, Problem: "not XML"}, codes.DataLoss, "UNREADABLE_FILE", "name=" + node},
	{&generation.UnreadableError{Node: uid, Problem: "not XML", Path: "nodes/000/001.xml"}, codes.DataLoss, "UNREADABLE_FILE", "path=nodes/000/001.xml"},
	{&nodecontext.UnreadableError{Node: uid, Problem: "not XML", File: "nodes/000/001.xml"}, codes.DataLoss, "UNREADABLE_FILE", "path=nodes/000/001.xml"},
	{&nodecontext.UnknownError{IDs: []uuid.UUID{uid, uid}, At: []int{0, 2}}, codes.NotFound, "NODE_NOT_FOUND", "node=" + node + "," + node},
	{&nodecontext.TooLargeError{Bytes: 9, Limit: 7}, codes.InvalidArgument, "INVALID_FIELD", "limit=7"},
	{&llm.UnknownBackendError{Name: "x", Known: []string{"a", "b"}}, codes.NotFound, "UNKNOWN_BACKEND", "known=a,b"},
	{&generation.BackendChangedError{Measured: llm.Identity{Model: "m", Window: 5}}, codes.FailedPrecondition, "BACKEND_CHANGED", "measured=m 5  "},
	{&llm.BudgetError{Window: 5, MaxTokens: 7}, codes.InvalidArgument, "INVALID_BUDGET", "max_tokens=7"},
	{&llm.OverflowError{Limit: 5, Tokens: 7, Field: "prompt"}, codes.FailedPrecondition, "CONTEXT_OVERFLOW", "tokens=7"},
	{&generation.ReusedError{RequestID: uid}, codes.InvalidArgument, "REQUEST_ID_REUSED", "request_id=" + uid.String()},
	{&generation.CutOftenError{RequestID: uid}, codes.InvalidArgument, "INVALID_FIELD", "limit=100"},
	{&generation.RangeError{After: 5, Last: 3}, codes.OutOfRange, "EVENT_OUT_OF_RANGE", "last=3"},
	{&generation.BusyError{Limit: 64}, codes.ResourceExhausted, "LIMIT_EXCEEDED", "limit=64"},
	{&generation.DrainingError{}, codes.Unavailable, "DRAINING", ""},
	{&summary.DrainingError{}, codes.Unavailable, "DRAINING", ""},
	{&summary.BackendChangedError{Measured: llm.Identity{Model: "m", Window: 5}}, codes.FailedPrecondition, "BACKEND_CHANGED", "measured=m 5  "},
	{&summary.PanicError{Value: "secret"}, codes.Internal, "INTERNAL", "request_id=r-1"},
	{&summary.NodeError{Reason: "X", Message: "secret"}, codes.Internal, "INTERNAL", ""}, // it is an event, never the answer
	{&generation.CutError{Generation: uid, Finish: generation.FinishCancelled, Node: uid}, codes.Canceled, "GENERATION_CANCELLED", "node=" + node},
	{&generation.CutError{Generation: uid, Finish: generation.FinishDisconnected}, codes.Canceled, "GENERATION_CANCELLED", "generation=generations/" + uid.String()},
	{&generation.CutError{Finish: generation.FinishShutdown, Node: uid}, codes.Unavailable, "DRAINING", "node=" + node},
	{&generation.CutError{Finish: generation.FinishIdle, Limit: time.Minute}, codes.DeadlineExceeded, "GENERATION_TIMEOUT", "limit=1m0s"},
	{&generation.CutError{Finish: generation.FinishTimeout, Limit: time.Hour, Node: uid}, codes.DeadlineExceeded, "GENERATION_TIMEOUT", "node=" + node},
	{&generation.CutError{Finish: generation.FinishBackendError, Node: uid, Err: dead}, codes.Unavailable, "BACKEND_UNAVAILABLE", "address=http://m"},
	{&generation.CutError{Finish: generation.FinishBackendError, Err: errors.New("x")}, codes.Internal, "BACKEND_FAULT", ""},
	{&generation.NotStoredError{Generation: uid, Err: apierr.New(codes.Unavailable, "STORE_READ_ONLY", "disk full")}, codes.Unavailable, "NOT_STORED", "cause=STORE_READ_ONLY"},
	{&generation.NotStoredError{Err: errors.New("x"), Cut: &generation.CutError{}}, codes.Unavailable, "NOT_STORED", "cause=INTERNAL"},
	{&generation.PanicError{Value: "secret"}, codes.Internal, "INTERNAL", "request_id=r-1"},
	{apierr.New(codes.NotFound, "FLOW_NOT_FOUND", "passed by an adapter"), codes.NotFound, "FLOW_NOT_FOUND", ""},
	{&llm.Error{Fault: llm.FaultUnreachable}, codes.Unavailable, "BACKEND_UNAVAILABLE", "address="},
	{&llm.Error{Fault: llm.FaultCut}, codes.Unavailable, "BACKEND_UNAVAILABLE", ""},
	{&llm.Error{Fault: llm.FaultTimeout}, codes.Unavailable, "BACKEND_UNAVAILABLE", ""},
	{&llm.Error{Fault: llm.FaultLoading}, codes.Unavailable, "BACKEND_LOADING", ""},
	{&llm.Error{Fault: llm.FaultBusy, Backend: "gemma"}, codes.ResourceExhausted, "BACKEND_BUSY", "backend=gemma"},
	{&llm.Error{Fault: llm.FaultTooLong, Window: 5, Tokens: 7}, codes.FailedPrecondition, "CONTEXT_OVERFLOW", "limit=5"},
	{&llm.Error{Fault: llm.FaultRefused}, codes.FailedPrecondition, "BACKEND_REFUSED", ""},
	{&llm.Error{Fault: llm.FaultCount}, codes.Internal, "BACKEND_FAULT", ""},
	{&llm.Error{Fault: llm.FaultProtocol}, codes.Internal, "BACKEND_FAULT", ""},
	{&llm.Error{Fault: llm.FaultCancelled}, codes.Canceled, "CANCELLED", ""},
	{&generation.PresetError{Knobs: llm.KnobsError{Kind: "tale", Missing: []llm.Knob{"dry"}}}, codes.InvalidArgument, "INVALID_FIELD", "kind=tale"},
	{&llm.KnobsError{Kind: "tale", Missing: []llm.Knob{"dry"}}, codes.InvalidArgument, "INVALID_FIELD", "kind=tale"},
	{&llm.BadKnobsError{Bad: []llm.BadKnob{{Field: "grammar", Problem: "is not accepted"}}}, codes.InvalidArgument, "INVALID_FIELD", ""},
	{&llm.Error{Fault: "new"}, codes.Internal, "BACKEND_FAULT", ""},
}

func TestEveryErrorHasItsAnswer(t *testing.T) {
	t.Parallel()
	for i, c := range answers {
		t.Run(fmt.Sprintf("%d %T", i, c.err), func(t *testing.T) {
			t.Parallel()
			e := apierr.From(fault(fmt.Errorf("wrapped: %w", c.err)), "r-1")
			if e.Code != c.code || e.Reason != c.reason || e.Message == "" || strings.Contains(e.Message, "secret") {
				t.Errorf("%+v, want %s %s", e, c.code, c.reason)
			}
			if key, value, ok := strings.Cut(c.meta, "="); ok && e.Metadata[key] != value {
				t.Errorf("metadata %q, want %s", e.Metadata, c.meta)
			}
			if again := e.Code == codes.Unavailable || e.Code == codes.ResourceExhausted; again != (e.RetryAfter > 0) {
				t.Errorf("RetryInfo %s with %s", e.RetryAfter, e.Code)
			}
			if !known(e.Reason) {
				t.Errorf("%s is no reason of the contract", e.Reason)
			}
		})
	}
}

// known says whether a reason stands in a contract: ours, or that of a service whose reasons we pass on.
func known(reason string) bool {
	_, own := agentv1.ErrorReason_value["ERROR_REASON_"+reason]
	_, stored := flowstorev1.ErrorReason_value["ERROR_REASON_"+reason]
	_, built := promptbuilderv1.ErrorReason_value["ERROR_REASON_"+reason]
	return own || stored || built
}

// fieldOf are the errors that are about a field of the request, and that field.
var fieldOf = []struct {
	err   error
	field string
}{
	{&generation.NotFoundError{ID: uid}, "name"},
	{&generation.ViaError{Via: []uuid.UUID{uid, uid}, Wrong: []int{1}}, "via[1]"},
	{&generation.OptionsError{Count: 17, Limit: 16}, "every_option"},
	{&generation.PicksError{Field: "body"}, "text"},
	{&generation.PicksError{Field: "story.keywords[3]"}, "story.keywords[3]"},
	{&generation.PicksError{Field: "memory"}, "build.memory"},
	{&generation.AmbiguousError{Node: uid, Parents: []uuid.UUID{uid, uid}}, "via"},
	{&generation.UnreadableError{Node: uid, Problem: "not XML"}, "parent"},
	{&nodecontext.UnreadableError{Node: uid, Problem: "not XML"}, "parent"},
	{&nodecontext.UnknownError{IDs: []uuid.UUID{uid}, At: []int{2}}, "refs.ids[2]"},
	{&nodecontext.TooLargeError{Bytes: 9, Limit: 7}, "parent"},
	{&generation.ReusedError{RequestID: uid}, "request_id"},
	{&generation.CutOftenError{RequestID: uid}, "request_id"},
	{&generation.RangeError{After: 5, Last: 3}, "after"},
	{&llm.UnknownBackendError{Name: "x", Known: []string{"a", "b"}}, "backend"},
	{&generation.PresetError{Knobs: llm.KnobsError{Kind: "tale", Missing: []llm.Knob{"dry"}}}, "build.preset"},
	{&llm.KnobsError{Kind: "tale", Missing: []llm.Knob{"dry"}}, "sampling.dry"},
	{&llm.BadKnobsError{Bad: []llm.BadKnob{{Field: "grammar", Problem: "is not accepted"}}}, "sampling.grammar"},
	{&llm.BudgetError{Window: 5, MaxTokens: 7}, "sampling.max_tokens"},
	{&llm.OverflowError{Limit: 5, Tokens: 7, Field: "prompt"}, "prompt"},
	{&llm.OverflowError{Limit: 5, Tokens: 7, MaxTokens: 3}, "sampling.max_tokens"},
	{&llm.Error{Fault: llm.FaultTooLong, Window: 5, Tokens: 7}, "sampling.max_tokens"},
	{&generation.CutError{Finish: generation.FinishBackendError, Err: &llm.Error{Fault: llm.FaultTooLong}}, "sampling.max_tokens"},
	{&generation.CutError{Finish: generation.FinishBackendError, Err: &llm.KnobsError{Kind: "tale", Missing: []llm.Knob{"dry"}}}, "sampling.dry"},
}

// TestWhatLeftTheConfiguration: a session whose work folder and policy are no longer configured is told of both.
func TestWhatLeftTheConfiguration(t *testing.T) {
	t.Parallel()
	root, rules := &toolbox.UnknownRootError{Name: "old"}, &policy.Error{Problems: []string{"there is no policy gone"}}
	for _, c := range []struct {
		err     error
		subject string
	}{{root, "old"}, {rules, "policy"}, {fmt.Errorf("%w; and %w", root, rules), "old"}} {
		e := apierr.From(fault(c.err), "r-1")
		if e.Code != codes.FailedPrecondition || e.Reason != "SESSION_STATE" || e.Message != c.err.Error() || len(e.Preconditions) != 1 || e.Preconditions[0].Subject != c.subject {
			t.Errorf("%v: %+v", c.err, e)
		}
	}
}

func TestErrorsNameTheFieldOfTheRequest(t *testing.T) {
	t.Parallel()
	for _, c := range fieldOf {
		e := apierr.From(fault(fmt.Errorf("wrapped: %w", c.err)), "r-1")
		if len(e.Violations) != 1 || e.Violations[0].Field != c.field || e.Violations[0].Description == "" {
			t.Errorf("%T: %+v, want field %s", c.err, e.Violations, c.field)
		}
	}
}

func TestAGenerationThatCannotBeReadIsNamedByTheRequestID(t *testing.T) {
	t.Parallel()
	err := byRequestID(apierr.New(codes.DataLoss, "UNREADABLE_FILE", "m").About("name", "d"))
	if e := apierr.From(err, ""); len(e.Violations) != 1 || e.Violations[0].Field != "request_id" {
		t.Errorf("%+v", e)
	}
}

// TestNoErrorIsForgotten: a new error type of packages generation and summary, a new Finish and a new fault of a model server need a
// line above.
func TestNoErrorIsForgotten(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, c := range answers {
		name := strings.TrimPrefix(fmt.Sprintf("%T", c.err), "*")
		have[name] = true
		var cut *generation.CutError
		var backend *llm.Error
		if errors.As(c.err, &cut) {
			have[string(cut.Finish)] = true
		}
		if errors.As(c.err, &backend) {
			have[string(backend.Fault)] = true
		}
	}
	for _, name := range slices.Concat(declared(t, "../generation", "Finish"), declared(t, "../nodecontext", ""), declared(t, "../summary", ""), declared(t, "../../../internal/llm", "Fault")) {
		if whole := name == "stop" || name == "length"; !have[name] && !whole {
			t.Errorf("%s has no answer", name)
		}
	}
}

// declared lists the exported error types of a package and the string constants of one type.
func declared(t *testing.T, folder, constants string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			for _, name := range declares(n, constants) {
				if strings.HasSuffix(name, "Error") {
					name = parsed.Name.Name + "." + name
				}
				names = append(names, name)
			}
			return true
		})
	}
	if len(names) < 3 {
		t.Fatalf("only %q was found in %s", names, folder)
	}
	return names
}

func declares(n ast.Node, constants string) []string {
	switch n := n.(type) {
	case *ast.TypeSpec:
		if name := n.Name.Name; strings.HasSuffix(name, "Error") && name != "Error" && n.Name.IsExported() {
			return []string{name}
		}
	case *ast.ValueSpec:
		if kind, is := n.Type.(*ast.Ident); is && kind.Name == constants {
			return []string{strings.Trim(n.Values[0].(*ast.BasicLit).Value, `"`)}
		}
	}
	return nil
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"":                             nil,
		"the generation was cancelled": &generation.CutError{Finish: generation.FinishCancelled},
		"something went wrong on our side; the log has it": &generation.PanicError{Value: "secret"},
	} {
		if got := sentence(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	stored := &generation.CutError{Finish: generation.FinishIdle, Err: errors.New("the model server was silent for 2m0s")}
	if got := sentence(stored); got != "the model server was silent for 2m0s" {
		t.Errorf("what a node says of its end: %q", got)
	}
}
