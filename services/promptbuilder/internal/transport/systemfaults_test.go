package transport_test

import (
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// What callers of system prompts, layers, context and texts are told, with the field of the request that they sent.
func TestSystemFaults(t *testing.T) {
	t.Parallel()
	c := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) {
		promptbuilderv1.RegisterPromptBuilderServiceServer(r, builders())
	}))
	system := func(q *promptbuilderv1.BuildSystemRequest) func() error {
		return func() error { _, err := c.BuildSystem(t.Context(), q); return err }
	}
	agent := func(q *promptbuilderv1.BuildAgentRequest) func() error {
		return func() error { _, err := c.BuildAgent(t.Context(), q); return err }
	}
	prompt := &promptbuilderv1.BuildContextRequest{Prompt: strings.Repeat("夜", 100), MaxTokens: 20, IncludeCurrent: proto.Bool(true)}
	file := &promptbuilderv1.PromptFile{Name: "a", Content: []byte(strings.Repeat("x", 3<<20))}
	var sections []*promptbuilderv1.CustomSection
	for i := range 20 {
		sections = append(sections, &promptbuilderv1.CustomSection{Id: "own" + strconv.Itoa(i), Text: strings.Repeat("あ", 50_000)})
	}
	var skills []*promptbuilderv1.Skill
	for i := range 150 {
		skills = append(skills, &promptbuilderv1.Skill{Name: strconv.Itoa(i), Description: "d", Location: "/" + strings.Repeat("<", 4090) + strconv.Itoa(i)})
	}
	for name, tt := range map[string]struct {
		call     func() error
		code     codes.Code
		reason   string
		field    string
		metadata string
	}{
		"a word that is none": {system(&promptbuilderv1.BuildSystemRequest{Mode: 9}), codes.InvalidArgument, "INVALID_FIELD", "mode", ""},
		"a section that is ours": {
			system(&promptbuilderv1.BuildSystemRequest{Sections: []*promptbuilderv1.CustomSection{{Id: "skills"}}}), codes.InvalidArgument, "INVALID_FIELD", "sections[0].id", "",
		},
		"a prompt that is too large": {
			system(&promptbuilderv1.BuildSystemRequest{Files: []*promptbuilderv1.PromptFile{file}, Bootstrap: &promptbuilderv1.Bootstrap{MaxChars: 4 << 20, TotalMaxChars: proto.Int32(0)}}),
			codes.InvalidArgument, "INVALID_FIELD", "bootstrap.total_max_chars", "",
		},
		"sections that are too large": {system(&promptbuilderv1.BuildSystemRequest{Sections: sections}), codes.InvalidArgument, "INVALID_FIELD", "sections", ""},
		"skills that are too large": {
			system(&promptbuilderv1.BuildSystemRequest{Skills: skills, SkillsMaxChars: 4 << 20, Tools: []*promptbuilderv1.Tool{{Name: "read"}}}),
			codes.InvalidArgument, "INVALID_FIELD", "skills_max_chars", "",
		},
		"a context that does not fit": {func() error { _, err := c.BuildContext(t.Context(), prompt); return err }, codes.FailedPrecondition, "CONTEXT_OVERFLOW", "max_tokens", "tokens"},
		"the same in a prompt": {
			system(&promptbuilderv1.BuildSystemRequest{Context: prompt}), codes.FailedPrecondition, "CONTEXT_OVERFLOW", "context.max_tokens", "limit",
		},
		"a context with words of its own": {
			system(&promptbuilderv1.BuildSystemRequest{Context: &promptbuilderv1.BuildContextRequest{Locale: "ja"}}), codes.InvalidArgument, "INVALID_FIELD", "context", "",
		},
		"no agent":       {agent(nil), codes.InvalidArgument, "INVALID_FIELD", "agent", ""},
		"an agent, NONE": {agent(&promptbuilderv1.BuildAgentRequest{Agent: &promptbuilderv1.AgentState{}, System: &promptbuilderv1.BuildSystemRequest{Mode: promptbuilderv1.SystemMode_SYSTEM_MODE_NONE}}), codes.InvalidArgument, "INVALID_FIELD", "system.mode", ""},
		"a layer that does not fit": {
			agent(&promptbuilderv1.BuildAgentRequest{Agent: &promptbuilderv1.AgentState{Budgets: &promptbuilderv1.AgentBudgets{Main: proto.Int32(1)}}}),
			codes.FailedPrecondition, "CONTEXT_OVERFLOW", "agent.budgets.main", "block.main",
		},
		"a backend that is none": {system(&promptbuilderv1.BuildSystemRequest{Backend: "x"}), codes.NotFound, "UNKNOWN_BACKEND", "backend", "known"},
		"the same of an agent": {
			agent(&promptbuilderv1.BuildAgentRequest{Agent: &promptbuilderv1.AgentState{}, System: &promptbuilderv1.BuildSystemRequest{Backend: "x"}}),
			codes.NotFound, "UNKNOWN_BACKEND", "system.backend", "known",
		},
		"the same of a context": {
			func() error {
				_, err := c.BuildContext(t.Context(), &promptbuilderv1.BuildContextRequest{Backend: "x"})
				return err
			}, codes.NotFound, "UNKNOWN_BACKEND", "backend", "known",
		},
		"a text that is none": {
			func() error {
				_, err := c.GetTemplate(t.Context(), &promptbuilderv1.GetTemplateRequest{Name: "templates/x"})
				return err
			}, codes.NotFound, "UNKNOWN_TEMPLATE", "name", "",
		},
		"a value that is missing": {
			func() error {
				_, err := c.RenderTemplate(t.Context(), &promptbuilderv1.RenderTemplateRequest{Name: "templates/cut"})
				return err
			}, codes.InvalidArgument, "INVALID_FIELD", `values["n"]`, "",
		},
		"a language that is none, and values that are wrong": {
			func() error {
				_, err := c.RenderTemplate(t.Context(), &promptbuilderv1.RenderTemplateRequest{Name: "templates/node", Locale: "?", Values: map[string]string{"promt": "", "answer": ""}})
				return err
			}, codes.InvalidArgument, "INVALID_FIELD", `locale,values["prompt"],values["promt"]`, "",
		},
		"a language that is none": {
			func() error {
				_, err := c.ListTemplates(t.Context(), &promptbuilderv1.ListTemplatesRequest{Locale: "?"})
				return err
			}, codes.InvalidArgument, "INVALID_FIELD", "locale", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ok := apierr.FromStatus(tt.call())
			if !ok {
				t.Fatalf("no error of ours: %v", tt.call())
			}
			if e.Code != tt.code || e.Reason != tt.reason || fields(e) != tt.field || tt.metadata != "" && e.Metadata[tt.metadata] == "" {
				t.Errorf("%v %s of %s, %v", e.Code, e.Reason, fields(e), e.Metadata)
			}
		})
	}
}

// A build may be compared with one that printed nothing: all is new then, and nothing is refused.
func TestAPreviousBuildOfNothing(t *testing.T) {
	t.Parallel()
	c := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) {
		promptbuilderv1.RegisterPromptBuilderServiceServer(r, builders())
	}))
	p, err := c.BuildSystem(t.Context(), &promptbuilderv1.BuildSystemRequest{Previous: &promptbuilderv1.PreviousBuild{}})
	if d := p.GetDiff(); err != nil || d.GetFirstChanged().GetSection() != "identity" || d.GetFirstChanged().GetReason() != promptbuilderv1.DiffReason_DIFF_REASON_ADDED || d.GetCommonPrefixBytes() != 0 {
		t.Errorf("%v, %v", d, err)
	}
}

// Every file of a snapshot says what was found, those of the request too.
func TestTheStatesOfASnapshot(t *testing.T) {
	t.Parallel()
	p, err := builders().BuildSystem(t.Context(), &promptbuilderv1.BuildSystemRequest{ReturnSnapshot: true, Files: []*promptbuilderv1.PromptFile{{Name: "a", Content: []byte("a")}}})
	if files := p.GetSnapshot().GetFiles(); err != nil || len(files) != 1 || files[0].GetState() != promptbuilderv1.FileState_FILE_STATE_OK {
		t.Errorf("%v, %v", files, err)
	}
}

// What cleaning took out of a text of the request is told of a context, too, under the id of the text.
func TestACleanedTextOfAContextIsTold(t *testing.T) {
	t.Parallel()
	res, err := builders().BuildContext(t.Context(), &promptbuilderv1.BuildContextRequest{Prompt: "p", Texts: map[string]string{"context.head": "H\u0007\r\n"}})
	if err != nil || !strings.HasPrefix(res.GetText(), "H\n\n1. ") {
		t.Fatalf("%q, %v", res.GetText(), err)
	}
	if d := res.GetDiagnostics(); len(d) != 1 || d[0].GetCode() != "text_cleaned" || d[0].GetPart() != "context.head" || d[0].GetMessage() != "1 control or tag characters are gone" {
		t.Errorf("%v", d)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := builders()
	all, err := s.ListTemplates(t.Context(), &promptbuilderv1.ListTemplatesRequest{Locale: "en"})
	if err != nil || len(all.GetTemplates()) < 30 {
		t.Fatalf("%d, %v", len(all.GetTemplates()), err)
	}
	for _, want := range all.GetTemplates() {
		got, err := s.GetTemplate(t.Context(), &promptbuilderv1.GetTemplateRequest{Name: want.GetName(), Locale: "en-GB"})
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	got, err := s.RenderTemplate(t.Context(), &promptbuilderv1.RenderTemplateRequest{Name: "templates/cut", Values: map[string]string{"n": "{n}"}})
	if err != nil || got.GetText() != "（{n}件省略）" || len(got.GetSha256()) != 64 {
		t.Errorf("%v, %v", got, err)
	}
}
