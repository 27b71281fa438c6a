package transport_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// answers is what the caller gets for each error: of the domain by its type, of a model server by its fault.
var answers = map[string]struct {
	err      error
	code     codes.Code
	reason   string
	metadata map[string]string
	wait     bool
	field    string
}{
	"UnknownBackendError": {
		err:  &llm.UnknownBackendError{Name: "x", Known: []string{"a", "b"}},
		code: codes.NotFound, reason: "UNKNOWN_BACKEND", metadata: map[string]string{"backend": "x", "known": "a,b"}, field: "backend",
	},
	"KnobsError": {
		err:  &llm.KnobsError{Kind: "tale", Missing: []llm.Knob{"dry"}},
		code: codes.InvalidArgument, reason: "INVALID_FIELD", metadata: map[string]string{"kind": "tale"}, field: "sampling.dry",
	},
	"BadKnobsError": {
		err:  &llm.BadKnobsError{Bad: []llm.BadKnob{{Field: "grammar", Problem: "is not accepted"}}},
		code: codes.InvalidArgument, reason: "INVALID_FIELD", field: "sampling.grammar",
	},
	"BudgetError": {
		err:  &llm.BudgetError{Window: 200, MaxTokens: 250},
		code: codes.InvalidArgument, reason: "INVALID_BUDGET", metadata: map[string]string{"window": "200", "max_tokens": "250"}, field: "max_tokens",
	},
	"OverflowError": {
		err:  &llm.OverflowError{Limit: 1, Tokens: 5, MaxTokens: 4, Blocks: []llm.BlockSize{{Kind: "note", Tokens: 5}}, Field: "story"},
		code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
		metadata: map[string]string{"limit": "1", "tokens": "5", "block.note": "5"}, field: "story",
	},
	"OverflowError of story or answer": {
		err:  &llm.OverflowError{Limit: 1, Tokens: 5, MaxTokens: 5, Blocks: []llm.BlockSize{{Kind: "note", Tokens: 5}}, Field: "story"},
		code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
		metadata: map[string]string{"limit": "1", "tokens": "5", "block.note": "5"}, field: "story,max_tokens",
	},
	"OverflowError of a trim": {
		err:  &llm.OverflowError{Limit: 1, Tokens: 5, MaxTokens: 4, Field: "max_main_text_chars", Wish: "must be smaller"},
		code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
		metadata: map[string]string{"limit": "1", "tokens": "5"}, field: "max_main_text_chars",
	},
	"OverflowError of a small window": {
		err:  &llm.OverflowError{Limit: 1, Tokens: 5, MaxTokens: 4, Blocks: []llm.BlockSize{{Kind: "instruction", Tokens: 5}}},
		code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
		metadata: map[string]string{"limit": "1", "tokens": "5", "block.instruction": "5"}, field: "backend",
	},
	"OverflowError of a long answer": {
		err:  &llm.OverflowError{Limit: 1, Tokens: 5, MaxTokens: 5, Blocks: []llm.BlockSize{{Kind: "instruction", Tokens: 5}}},
		code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
		metadata: map[string]string{"limit": "1", "tokens": "5", "block.instruction": "5"}, field: "max_tokens",
	},
	"a count half-way":              {err: halfWay(llm.FaultCount), code: codes.Unavailable, reason: "BACKEND_FAULT", metadata: tried, wait: true},
	"nonsense half-way":             {err: halfWay(llm.FaultProtocol), code: codes.Unavailable, reason: "BACKEND_FAULT", metadata: tried, wait: true},
	"busy half-way":                 {err: halfWay(llm.FaultBusy), code: codes.Unavailable, reason: "BACKEND_BUSY", metadata: tried, wait: true},
	"timeout half-way":              {err: halfWay(llm.FaultTimeout), code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: tried, wait: true},
	"gone half-way":                 {err: halfWay(llm.FaultUnreachable), code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: tried, wait: true},
	"refused half-way":              {err: halfWay(llm.FaultRefused), code: codes.FailedPrecondition, reason: "BACKEND_REFUSED", metadata: tried},
	"cancelled by its own half-way": {err: halfWay(llm.FaultCancelled), code: codes.Canceled, reason: "CANCELLED", metadata: tried},
	"unreachable":                   {err: trouble(llm.FaultUnreachable, nil), code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: server, wait: true},
	"timeout":                       {err: trouble(llm.FaultTimeout, nil), code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: server, wait: true},
	"cut":                           {err: trouble(llm.FaultCut, nil), code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: server, wait: true},
	"loading":                       {err: trouble(llm.FaultLoading, nil), code: codes.Unavailable, reason: "BACKEND_LOADING", metadata: server, wait: true},
	"busy":                          {err: trouble(llm.FaultBusy, nil), code: codes.ResourceExhausted, reason: "BACKEND_BUSY", metadata: server, wait: true},
	"refused":                       {err: trouble(llm.FaultRefused, nil), code: codes.FailedPrecondition, reason: "BACKEND_REFUSED", metadata: server},
	"too_long": {
		err: trouble(llm.FaultTooLong, nil), code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW",
		metadata: map[string]string{"backend": "b", "address": "a", "limit": "0", "tokens": "0"}, field: "max_tokens",
	},
	"count":     {err: trouble(llm.FaultCount, nil), code: codes.Internal, reason: "BACKEND_FAULT", metadata: server},
	"protocol":  {err: trouble(llm.FaultProtocol, nil), code: codes.Internal, reason: "BACKEND_FAULT", metadata: server},
	"cancelled": {err: trouble(llm.FaultCancelled, context.Canceled), code: codes.Canceled, reason: "CANCELLED", metadata: server},
	"a fault that is new": {
		err: trouble("new", nil), code: codes.Internal, reason: "BACKEND_FAULT", metadata: server,
	},
	"timeout of the caller": {
		err: trouble(llm.FaultTimeout, context.DeadlineExceeded), code: codes.DeadlineExceeded, reason: "DEADLINE_EXCEEDED", metadata: server,
	},
}

var server = map[string]string{"backend": "b", "address": "a"}

func trouble(f llm.Fault, cause error) error {
	return &llm.Error{Fault: f, Backend: "b", Address: "a", Message: "m", Err: cause}
}

// halfWay is trouble with a count, after others.
func halfWay(f llm.Fault) error {
	return &llm.Error{Fault: f, Backend: "b", Address: "a", Message: "m", Tried: &llm.Tried{Count: 2, Characters: 812, Took: 1500*time.Millisecond + 7}}
}

// tried is server, and what was tried.
var tried = map[string]string{"backend": "b", "address": "a", "count": "2", "characters": "812", "took": "1.5s"}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, &stories{err: fmt.Errorf("wrapped: %w", tt.err)})
			_, buildErr := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{})
			_, countErr := client.CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{Texts: []string{"a"}})
			for _, err := range []error{buildErr, countErr} {
				e, ok := apierr.FromStatus(err)
				if !ok || e.Code != tt.code || e.Reason != tt.reason || (e.RetryAfter > 0) != tt.wait || e.Message == "" {
					t.Fatalf("got %+v of %v, want %v %s, wait %t", e, err, tt.code, tt.reason, tt.wait)
				}
				if got := fields(e); got != tt.field {
					t.Errorf("fields %q, want %q", got, tt.field)
				}
				if diff := cmp.Diff(tt.metadata, e.Metadata); diff != "" {
					t.Errorf("metadata (-want +got):\n%s", diff)
				}
				if value, ok := promptbuilderv1.ErrorReason_value["ERROR_REASON_"+e.Reason]; !ok || value == 0 {
					t.Errorf("%s is not in the contract", e.Reason)
				}
			}
		})
	}
}

// fields are the fields that an answer names.
func fields(e *apierr.Error) string {
	var names []string
	for _, v := range e.Violations {
		names = append(names, v.Field)
	}
	return strings.Join(names, ",")
}

func TestTheServersOwnWait(t *testing.T) {
	t.Parallel()
	client := serve(t, &stories{err: &llm.Error{Fault: llm.FaultBusy, RetryAfter: 7 * time.Second}})
	_, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{})
	if e, _ := apierr.FromStatus(err); e == nil || e.RetryAfter != 7*time.Second {
		t.Errorf("error %v, want to come again in 7 s", err)
	}
}

func TestAnythingElseIsOurFault(t *testing.T) {
	t.Parallel()
	client := serve(t, &stories{err: errors.New("secret")})
	_, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{})
	if e, ok := apierr.FromStatus(err); !ok || e.Reason != apierr.ReasonInternal || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want INTERNAL without its cause", err)
	}
}

// TestNoErrorIsForgotten reads the sources: each error type of the domain and each fault of a model server is in answers.
func TestNoErrorIsForgotten(t *testing.T) {
	t.Parallel()
	inLLM := filepath.Join(testkit.Root(t), "services", "internal", "llm")
	var names []string
	declared(t, filepath.Join("..", "story"), func(s *ast.TypeSpec) {
		if strings.HasSuffix(s.Name.Name, "Error") {
			names = append(names, s.Name.Name)
		}
	}, nil)
	declared(t, inLLM, func(s *ast.TypeSpec) {
		if name := s.Name.Name; name != "Error" && strings.HasSuffix(name, "Error") {
			names = append(names, name)
		}
	}, func(s *ast.ValueSpec) {
		if kind, ok := s.Type.(*ast.Ident); ok && kind.Name == "Fault" {
			value, err := strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, value)
		}
	})
	if len(names) < 14 {
		t.Fatalf("only %v were found", names)
	}
	for _, name := range names {
		if _, ok := answers[name]; !ok {
			t.Errorf("nobody says what the caller gets for %s", name)
		}
	}
}

// declared calls back for the types and values that the files of a folder declare at top level.
func declared(t *testing.T, folder string, types func(*ast.TypeSpec), values func(*ast.ValueSpec)) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range files {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range group.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if types != nil {
						types(s)
					}
				case *ast.ValueSpec:
					if values != nil {
						values(s)
					}
				}
			}
		}
	}
}

// TestTheBackendIsToldWithTheFields that are wrong, under its own reason.
func TestTheBackendIsToldWithTheFields(t *testing.T) {
	t.Parallel()
	s := &stories{unfit: &llm.BudgetError{Window: 5, MaxTokens: 7}}
	_, err := serve(t, s).BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Mode: 99, MaxTokens: 7})
	e, ok := apierr.FromStatus(err)
	if !ok || e.Reason != "INVALID_FIELD" || len(e.Violations) != 2 || s.calls != 0 {
		t.Fatalf("%+v, %v; %d calls", e, err, s.calls)
	}
	if v := e.Violations; v[0].Field != "max_tokens" || v[0].Reason != "INVALID_BUDGET" || v[1].Field != "mode" || v[1].Reason != "" {
		t.Errorf("%+v", v)
	}
}
