package e2e

import (
	"os"
	"testing"

	agent "github.com/tsumugi-dev/tsumugi/services/agent/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// A test binary that is started with the word for it is an MCP server.
func TestMain(m *testing.M) {
	if code, child := agent.Child(); child {
		os.Exit(code)
	}
	if len(os.Args) > 3 && os.Args[1] == mcpServer {
		serveMCP(os.Args[2], os.Args[3])
		return
	}
	testkit.Main(m, removePrograms)
}

// scenario is what is tried in a mode. The name of one that has cases of cases/agent.md ends in their numbers (testkit.EveryCaseHasATest).
type scenario struct {
	name string
	run  func(t *testing.T, m mode)
}

// scenarios are run one after the other, in each mode beside the other one: several of them look at what the model server of the mode is doing. None
// may look at what the whole test process does.
var scenarios = []scenario{
	{"a story is continued", continued},
	{"a story is continued over REST", continuedOverREST},
	{"a retry is a second branch", branched},
	{"a merge needs to be told the way", merged},
	{"a model is told of a conversation", nodeContexts},
	{"a workspace becomes a prompt", workspaceBuilt},
	{"a conversation is shown", conversation},
	{"a model asks for a node", nodeAskedFor},
	{"a model calls for a node", nodeCalledFor},
	{"a conversation is refused", conversationRefused},
	{"an answer is cancelled", cancelled},
	{"the client leaves", left},
	{"an answer is watched from elsewhere", attached},
	{"the model server dies", modelDied},
	{"the services are stopped", stopped},
	{"the services are stopped at one moment", stoppedTogether},
	{"several answers are asked for", severalAnswers},
	{"the services are killed", killed},
	{"the services are killed among several answers", severalKilled},
	{"there is no model server", modelAbsent},
	{"bad input is refused", refused},
	{"bad HTTP is refused", refusedHTTP},
	{"odd texts stay as they are", verbatim},
	{"too much for the window", overflowing},
	{"the data folder is held", folderHeld},
	{"a file is broken by hand", fileBroken},
	{"addresses beyond loopback are refused", beyondLoopback},
	{"the same request gives the same prompt", deterministic},
	{"a whole novel fits", novelFits},
	{"every knob of sampling arrives", knobs},
	{"a grammar holds", grammarHolds},
	{"two callers close a cycle", cycles},
	{"every required field is asked for", required},
	{"no field takes nonsense", crooked},
	{"no field of a session takes nonsense", crookedSessions},
	{"what changes is told", watched},
	{"what is written is found", searched},
	{"what is deleted comes back, what is purged does not", erased},
	{"an answer is split, and the split undone", splitAndUndone},
	{"conversations arrive and leave", movedHouse},
	{"a store is checked and repaired", mended},
	{"a novel is summarised", summarised},
	{"a node is edited while it is summarised", editedMeanwhile},
	{"the services are killed among summaries", summariesKilled},
	{"nodes are summarised unasked", summarisedUnasked},
	{"a task is planned, approved, carried out and reviewed (agent c4 c5)", tasked},
	{"a session remembers what was said", remembered},
	{"a call is denied, and another one changed (agent c4 c34)", refusedAndChanged},
	{"a session is spoken to while it works (agent c14 c17)", spokenTo},
	{"a model goes round in circles (agent c29)", inCircles},
	{"a program runs when its task is canceled (agent c17)", canceledPrograms},
	{"all that tell of a session agree (agent c13)", agreeing},
	{"a session is watched (agent c19 c20)", missedNothing},
	{"the services are killed between a decision and what it allows (agent c11)", killedSessions},
	{"an approval outlives who waits for it (agent c10)", outwaited},
	{"several approvals wait at once (agent c7)", severalAtOnce},
	{"a file changes before it is written (agent c28 c31)", overtaken},
	{"the audit is tampered with (agent c5 c10 c23)", tampered},
	{"an MCP server has a tool (agent c28 c34)", othersTools},
	{"the caller has a tool (agent c34)", clientsTools},
	{"the services are killed around the call of an MCP server (agent c11)", othersToolsKilled},
	{"the services are killed while the caller has a call (agent c11 c34)", clientsToolsKilled},
	{"callers of two namespaces (agent c22)", apart},
	{"who asks does not decide (agent c2 c8)", askers},
	{"only the very words decide (agent c1 c14)", worded},
	{"callers pretend to be others", forged},
	{"tokens come and go", changing},
	{"whoever decides shows a secret", decided},
	{"addresses beyond loopback with tokens", beyondLoopbackWithTokens},
}

// modelled are those in which a real llama.cpp server says what sessions hear, which the mind says elsewhere. A model is slow, and the wire is the same in
// each mode: they run in one of them, beside all others.
var modelled = []scenario{
	{"a real model server says a task", tasked},
	{"a real model server says six turns", remembered},
	{"the services are killed while a real model server says a task", killedSessions},
	{"a real model server calls for an MCP server", othersTools},
	{"a real model server calls for the caller", clientsTools},
	{"a small model works", smallModel},
}

func TestScenarios(t *testing.T) {
	build(t)
	spoken := oneProcess
	spoken.model = "gemma"
	for name, group := range map[string]struct {
		mode mode
		all  []scenario
	}{
		oneProcess.name: {oneProcess, scenarios}, fourProcesses.name: {fourProcesses, scenarios}, "a real model": {spoken, modelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range group.all {
				t.Run(s.name, func(t *testing.T) { s.run(t, group.mode) })
			}
		})
	}
}

// Each case of cases/agent.md is found by its number: a test TestAgentNN... has it, or a scenario whose name ends in it. It stands here because
// the tests of this package are never taken from the cache, which does not see other modules.
func TestEveryCaseOfTheAgentHasATest(t *testing.T) {
	testkit.EveryCaseHasATest(t, "agent", "services/agent", "services/internal", "services/tsumugi/e2e")
}
