package transport_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// mixer puts what a request sends in no order into another one with each build.
type mixer struct{ *rand.Rand }

func mix[T any](m mixer, list ...T) []T {
	m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// system is a request with something of everything.
func (m mixer) system() *promptbuilderv1.BuildSystemRequest {
	tool := func(name string) *promptbuilderv1.Tool {
		return &promptbuilderv1.Tool{Name: name, Summary: "does " + name, SchemaJson: `{"b":1,"a":{"d":2,"c":3}}`}
	}
	skill := func(name string) *promptbuilderv1.Skill {
		return &promptbuilderv1.Skill{Name: name, Description: strings.Repeat("技 ", 75) + name, Location: "/skills/" + name}
	}
	file := func(name string, class promptbuilderv1.SectionClass) *promptbuilderv1.PromptFile {
		return &promptbuilderv1.PromptFile{Name: name, Class: class, Content: []byte(strings.Repeat(name+" 規則。\r\n", 40))}
	}
	section := func(id string, class promptbuilderv1.SectionClass) *promptbuilderv1.CustomSection {
		return &promptbuilderv1.CustomSection{Id: id, Heading: id, Text: "text of " + id, Class: class}
	}
	const stable, session, volatile = promptbuilderv1.SectionClass_SECTION_CLASS_STABLE, promptbuilderv1.SectionClass_SECTION_CLASS_SESSION, promptbuilderv1.SectionClass_SECTION_CLASS_VOLATILE
	extra := map[string]string{}
	for _, key := range mix(m, "zone", "arch", "shell", "channel", "ci", "Build") {
		extra[key] = "of " + key
	}
	return &promptbuilderv1.BuildSystemRequest{
		Locale: "ja", Workspace: "/w", Time: &promptbuilderv1.TimeSection{Zone: "Asia/Tokyo", Format: "auto"}, IncludeTime: true,
		Now: timestamppb.New(time.Date(2026, 2, 6, 10, 0, 59, 0, time.UTC)), SkillsMaxChars: 1150,
		Tools:  mix(m, tool("zip"), tool("read"), tool("exec"), tool("message"), tool("session_status"), tool("zeta_custom"), tool("Ask")),
		Skills: mix(m, skill("gmail"), skill("tax"), skill("Zip"), skill("a1"), skill("技")),
		Files: mix(m, file("SOUL.md", stable), file("IDENTITY.md", stable), file("pkg/AGENTS.md", stable), file("AGENTS.md", stable), file("notes.md", session), file("MEMORY.md", volatile), file("a/HEARTBEAT.md", stable),
			file("HEARTBEAT.md", volatile)),
		Sections: mix(m, section("heartbeats", 0), section("documentation", 0), section("own-b", stable), section("own-a", stable), section("own-c", session), section("own-e", volatile),
			section("own-d", volatile)),
		Bootstrap: &promptbuilderv1.Bootstrap{TotalMaxChars: proto.Int32(1000)}, Runtime: &promptbuilderv1.Runtime{Host: "h", Model: "gemma", Extra: extra},
	}
}

// nodes is a request for a context in which two nodes share their last digits.
func (m mixer) nodes() *promptbuilderv1.BuildContextRequest {
	q := &promptbuilderv1.BuildContextRequest{Locale: "ja", Prompt: "季節は？"}
	for n := range 12 {
		id := fmt.Sprintf("0196b2c4-%04d-7aaa-8bbb-0000a1b2c3%02d", n, n/2)
		q.Nodes = append(q.Nodes, &promptbuilderv1.ContextNode{Id: id, Prompt: fmt.Sprint("問い", n), Answer: "答え", Summary: fmt.Sprint("要約", n), Stale: n%3 == 0, Tags: []string{"港", "夜"}})
		if n < 9 {
			q.Path = append(q.Path, id)
		} else {
			q.Refs = append(q.Refs, id)
		}
	}
	q.Nodes = mix(m, q.GetNodes()...)
	return q
}

func (m mixer) agent() *promptbuilderv1.BuildAgentRequest {
	q := &promptbuilderv1.BuildAgentRequest{System: m.system(), User: "続けて", Agent: &promptbuilderv1.AgentState{
		Pattern: "base_main_specialized", Step: "EXECUTION", Status: "IN_PROGRESS", Goal: "短編", Constraints: []string{"一つ", "二つ"},
		Memory:    &promptbuilderv1.AgentMemory{TotalFiles: proto.Int32(3), LearnedPatterns: []string{"短く"}, UserSettings: []string{"敬語"}},
		Summaries: []*promptbuilderv1.AgentSummary{{Text: "設定を決めた。"}}, Exchanges: []*promptbuilderv1.AgentExchange{{User: "u", Assistant: "a"}},
		Evidence: []*promptbuilderv1.AgentEvidence{{Source: "read", Text: "雨の朝。"}}, SessionId: "s-7",
	}}
	q.System.Context = m.nodes()
	q.System.Context.Locale = ""
	return q
}

// replies are the digests of a hundred replies of each kind, whose requests sent everything in other orders.
func replies(t *testing.T) string {
	t.Helper()
	s := builders()
	first := map[string]string{}
	for seed := range uint64(100) {
		m := mixer{rand.New(rand.NewPCG(seed, 0))}
		system, errs := s.BuildSystem(t.Context(), m.system())
		small := m.system()
		small.Mode = promptbuilderv1.SystemMode_SYSTEM_MODE_MINIMAL
		minimal, errm := s.BuildSystem(t.Context(), small)
		agent, erra := s.BuildAgent(t.Context(), m.agent())
		nodes, errn := s.BuildContext(t.Context(), m.nodes())
		if err := errors.Join(errs, errm, erra, errn); err != nil {
			t.Fatal(err)
		}
		for name, reply := range map[string]proto.Message{"system": system, "minimal": minimal, "agent": agent, "context": nodes} {
			bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(reply)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%x", sha256.Sum256(bytes))
			if first[name] == "" {
				first[name] = got
			}
			if got != first[name] {
				t.Fatalf("build %d of %s is another one", seed, name)
			}
		}
	}
	return fmt.Sprint("replies ", first)
}

// cases/systemprompt.md 1: a hundred builds, and those of three more processes with other zones, languages, homes and processors, are one:
// the whole reply, in whatever order tools, skills, files, sections, facts and nodes were sent.
func TestSystemprompt01ThreeProcesses(t *testing.T) {
	t.Parallel()
	const child = "TSUMUGI_CHILD_OF_A_TEST"
	want := replies(t)
	if os.Getenv(child) != "" {
		fmt.Println(want)
		return
	}
	for _, env := range [][]string{
		{"TZ=America/New_York", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "HOME=/nonexistent", "GOMAXPROCS=1", "HOSTNAME=a", "USER=a"},
		{"TZ=Asia/Kathmandu", "LANG=ja_JP.eucJP", "LC_ALL=ja_JP.eucJP", "HOME=/", "GOMAXPROCS=2", "HOSTNAME=b", "USER=b", "ZONEINFO=/nonexistent"},
		{"TZ=", "LANG=C", "LC_ALL=C", "HOME=", "GOMAXPROCS=7", "HOSTNAME=", "USER="},
	} {
		program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSystemprompt01ThreeProcesses$") //nolint:gosec // this test
		program.Env = append(append(os.Environ(), child+"=1"), env...)
		out, err := program.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want+"\n") {
			t.Errorf("with %q: %v, want %s\n%s", env, err, want, out)
		}
	}
}
