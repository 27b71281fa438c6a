package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/layers"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/transport"
)

// golden is a case of testdata/prompts.jsonl: two programs that share nothing with this one gave these bytes
// (field/systemprompt-rules.md 6).
type golden struct {
	Case, RPC, Previous string
	Request             json.RawMessage
	Want                want
}

type want struct {
	Text                  *string
	Bytes, Cache, Session int
	SHA256                string `json:"sha256"`
	Tokens                *int   `json:"tokens_est1"`
	Sections              [][]any
	Lint                  [][]any
	FirstChanged          *struct{ Section, Part, Reason string } `json:"first_changed"`
	Prefix                int                                     `json:"common_prefix_bytes_without_text"`
	ContextTokens         int                                     `json:"tokens"`
	Dropped, Refs         int
	Cuts                  []string
	MainHas               []string `json:"main_has"`
	PrefixWithText        int      `json:"common_prefix_bytes_with_text"`
}

func goldens(t *testing.T) []golden {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "services", "promptbuilder", "testdata", "prompts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if len(all) != 16 || lines.Err() != nil {
		t.Fatalf("%d cases, %v", len(all), lines.Err())
	}
	return all
}

func (g golden) read(t *testing.T, req proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal(g.Request, req); err != nil {
		t.Fatal(err)
	}
}

func buildSystem(t *testing.T, req *promptbuilderv1.BuildSystemRequest) *promptbuilderv1.BuildSystemResponse {
	t.Helper()
	res, err := builders().BuildSystem(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// builders is one without model servers and folders.
func builders() *transport.Server {
	systems := sysprompt.NewBuilder(noRoots{}, noBackends{}, sysprompt.Defaults{})
	return transport.New(nil, systems, layers.NewBuilder(systems))
}

type noRoots struct{ sysprompt.Roots }

func (noRoots) Names() []string { return nil }

type noBackends struct{}

func (noBackends) Counter(_ context.Context, backend string) (tokens.Counter, error) {
	return nil, &llm.UnknownBackendError{Name: backend, Known: []string{"gemma"}}
}

func TestSystemGoldens(t *testing.T) {
	t.Parallel()
	first := map[string]*promptbuilderv1.BuildSystemResponse{}
	for _, g := range goldens(t) {
		if g.RPC != "BuildSystem" {
			continue
		}
		req := &promptbuilderv1.BuildSystemRequest{}
		g.read(t, req)
		if old := first[g.Previous]; old != nil {
			req.Previous = &promptbuilderv1.PreviousBuild{Sections: old.GetSections()}
		}
		got := buildSystem(t, req)
		first[g.Case] = got
		g.Want.check(t, g.Case, got)
		if req.GetPrevious() != nil && g.Want.PrefixWithText > 0 {
			req.Previous.Text = first[g.Previous].GetText()
			if d := buildSystem(t, req).GetDiff(); int(d.GetCommonPrefixBytes()) != g.Want.PrefixWithText || !d.GetExact() {
				t.Errorf("%s: with the text %v", g.Case, d)
			}
		}
	}
}

func TestAgentGoldens(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t) {
		if g.RPC != "BuildAgent" {
			continue
		}
		req := &promptbuilderv1.BuildAgentRequest{}
		g.read(t, req)
		req.User = "続けて\r\n"
		got, err := builders().BuildAgent(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		g.Want.check(t, g.Case, got.GetSystem())
		var cuts []string
		for _, c := range got.GetCuts() {
			cuts = append(cuts, c.GetItem())
		}
		if diff := cmp.Diff(g.Want.Cuts, cuts); diff != "" || got.GetUser() != req.GetUser() {
			t.Errorf("%s: %q, %s", g.Case, got.GetUser(), diff)
		}
		for _, part := range g.Want.MainHas {
			if !strings.Contains(got.GetSystem().GetText(), part) {
				t.Errorf("%s: %q is not in %s", g.Case, part, got.GetSystem().GetText())
			}
		}
	}
}

func TestContextGoldens(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t) {
		if g.RPC != "BuildContext" {
			continue
		}
		req := &promptbuilderv1.BuildContextRequest{}
		g.read(t, req)
		got, err := builders().BuildContext(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		refs := 0
		for _, e := range got.GetEntries() {
			if e.GetReference() && e.GetForm() == promptbuilderv1.NodeForm_NODE_FORM_LINE {
				refs++
			}
		}
		if diff := cmp.Diff(*g.Want.Text, got.GetText()); diff != "" {
			t.Errorf("%s: %s", g.Case, diff)
		}
		if int(got.GetBytes()) != g.Want.Bytes || int(got.GetTokens()) != g.Want.ContextTokens || int(got.GetDropped()) != g.Want.Dropped || refs != g.Want.Refs {
			t.Errorf("%s: %d bytes, %d tokens, %d dropped, %d references", g.Case, got.GetBytes(), got.GetTokens(), got.GetDropped(), refs)
		}
	}
}

func (w want) check(t *testing.T, name string, got *promptbuilderv1.BuildSystemResponse) {
	t.Helper()
	if w.Text != nil && got.GetText() != *w.Text {
		t.Errorf("%s: %s", name, cmp.Diff(*w.Text, got.GetText()))
	}
	if int(got.GetBytes()) != w.Bytes || w.SHA256 != "" && (got.GetSha256() != w.SHA256 ||
		int(got.GetBoundaries().GetCache().GetByte()) != w.Cache || int(got.GetBoundaries().GetSession().GetByte()) != w.Session) {
		t.Errorf("%s: %d bytes, %s, boundaries %v", name, got.GetBytes(), got.GetSha256(), got.GetBoundaries())
	}
	if w.Tokens != nil && int(got.GetTokens().GetCount()) != *w.Tokens {
		t.Errorf("%s: %v tokens, want %d", name, got.GetTokens(), *w.Tokens)
	}
	for i, s := range w.Sections {
		if have := got.GetSections()[i]; have.GetId() != s[0] || float64(have.GetStart()) != s[1] || float64(have.GetEnd()) != s[2] {
			t.Errorf("%s: section %v, want %v", name, have, s)
		}
	}
	var lint [][]any
	for _, d := range got.GetDiagnostics() {
		if kind, ok := bytes.CutPrefix([]byte(d.GetCode()), []byte("volatile_")); ok {
			lint = append(lint, []any{d.GetSection(), float64(d.GetByte()), string(kind)})
		}
	}
	if diff := cmp.Diff(w.Lint, lint); diff != "" {
		t.Errorf("%s: lint %s", name, diff)
	}
	if c := w.FirstChanged; c != nil {
		d := got.GetDiff()
		if f := d.GetFirstChanged(); f.GetSection() != c.Section || f.GetPart() != c.Part || f.GetReason().String() != "DIFF_REASON_"+string(bytes.ToUpper([]byte(c.Reason))) || int(d.GetCommonPrefixBytes()) != w.Prefix || d.GetExact() {
			t.Errorf("%s: %v", name, d)
		}
	}
}
