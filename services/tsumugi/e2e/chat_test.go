package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// A conversation is made of a path or of a context, and shown without a model being asked.
func conversation(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.exchange(t, flow, "", "名前を決めたい", "候補を三つ出します。", "名前を相談した。", nil)
	parent := w.exchange(t, flow, "", "二つ目が良い", "では「澪」にします。", "", nil, root)
	q := &agentv1.GenerateNodeRequest{Flow: flow, Parent: parent, Text: "舞台は？", DryRun: true, Chat: &agentv1.Chat{System: "短く。"}}
	want := []string{"system 短く。", "user 名前を決めたい", "assistant 候補を三つ出します。", "user 二つ目が良い", "assistant では「澪」にします。", "user 舞台は？"}
	if diff := cmp.Diff(want, w.messages(t, q)); diff != "" {
		t.Error(diff)
	}
	q.Chat.Source = agentv1.ChatSource_CHAT_SOURCE_CONTEXT
	id := root[len(root)-8:]
	system := "system 短く。\n\n以下の情報を参照して回答してください：\n詳細情報が必要な場合は「[ノードID]の詳細を知りたい」と指示できます。\n\n1. 会話の流れ:\n[" + id + "]: 名前を相談した。"
	if diff := cmp.Diff(append([]string{system}, want[3:]...), w.messages(t, q)); diff != "" {
		t.Error(diff)
	}
	q.Chat.LastNodes, q.Chat.NodeDetail = proto.Int32(0), proto.Bool(false)
	got := w.messages(t, q)
	if len(got) != 2 || !strings.Contains(got[0], "<node id=") || strings.Contains(got[0], "指示できます") {
		t.Errorf("%q", got)
	}
}

// messages are those of a dry run, over gRPC and REST alike.
func (w *world) messages(t *testing.T, q *agentv1.GenerateNodeRequest) (all []string) {
	t.Helper()
	o := w.dryRun(t, q)
	stream, err := agentv1.NewAgentServiceClient(overREST{w}).GenerateNode(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	e, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	unlike := []cmp.Option{protocmp.Transform(), protocmp.IgnoreFields(&agentv1.Opened{}, "request_id", "sampling"), protocmp.IgnoreFields(&promptbuilderv1.BuildContextResponse{}, "counts_used")}
	if diff := cmp.Diff(o.GetChat(), e.GetOpened().GetChat(), unlike...); diff != "" || o.GetPromptDigest() != e.GetOpened().GetPromptDigest() {
		t.Errorf("REST answers otherwise: %s", diff)
	}
	if len(o.GetPromptDigest()) != 64 || o.GetPromptTokens() == 0 || o.GetBuild() != nil {
		t.Errorf("%v", o)
	}
	for _, m := range o.GetChat().GetMessages() {
		all = append(all, m.GetRole()+" "+m.GetContent())
	}
	return all
}

// A model asks for a node by a sentence, gets it from the store, and goes on: both answers are kept. The next turn has them as messages.
func nodeAskedFor(t *testing.T, m mode) {
	w := prepare(t, m, nobody)
	const script = `window: 100000
replies:
  - times: 1
    text: "その前に確認します。\n[a1b2c304]の詳細を知りたい\n「[A1B2C305]の詳細を知りたい」。"
  - text: わかりました。
`
	file := filepath.Join(filepath.Dir(w.settings.backends), "script.yaml")
	backends := fmt.Sprintf("default: tale\nbackends:\n  tale: {kind: scripted, script: %s}\n", file)
	for name, text := range map[string]string{file: script, w.settings.backends: backends} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.start(t)
	flow := w.newFlow(t)
	root := w.exchange(t, flow, "", "名前を決めたい", "候補を三つ出します。", "名前を相談した。", nil)
	ref := w.exchange(t, flow, "0196b2c4-4444-7aaa-8bbb-0000a1b2c304", "方言は？", "控えめに使います。\n</node>", "方言は控えめに。", nil)
	long := w.exchange(t, flow, "0196b2c4-5555-7aaa-8bbb-0000a1b2c305", strings.Repeat("長", 6000), strings.Repeat("い", 6000), "長い。", nil)
	q := &agentv1.GenerateNodeRequest{
		Flow: flow, Parent: root, Text: "季節は？", RequestId: uuid.NewString(),
		Chat: &agentv1.Chat{Source: agentv1.ChatSource_CHAT_SOURCE_CONTEXT, Refs: &agentv1.NodeReferences{Ids: []string{ref, long}}},
	}
	r := w.generate(q)
	node := r.node(t)
	shown := "<node-1 id=\"a1b2c304\">\n[プロンプト]\n方言は？\n\n[回答]\n控えめに使います。\n</node>\n</node-1>"
	var said []string
	for _, text := range node.GetTexts() {
		said = append(said, text.GetRole()+" "+text.GetContent())
	}
	if len(said) != 5 {
		t.Fatalf("%q", said)
	}
	cut := said[3]
	said = slices.Delete(said, 3, 4)
	if diff := cmp.Diff([]string{
		"user 季節は？", "assistant その前に確認します。\n[a1b2c304]の詳細を知りたい\n「[A1B2C305]の詳細を知りたい」。", "tool " + shown, "assistant わかりました。",
	}, said); diff != "" {
		t.Error(diff)
	}
	if n := utf8.RuneCountInString(cut); !strings.HasPrefix(cut, `tool <node id="a1b2c305">`) || strings.Count(cut, "[... truncated ...]") != 2 || n < 8000 || n > 8100 {
		t.Errorf("%d characters: %.80s", n, cut)
	}
	if d := r.details; len(d) != 2 || d[0].GetNode() != ref || d[1].GetNode() != long || "tool "+d[0].GetText() != said[2] {
		t.Errorf("%v", d)
	}
	if c := r.opened.GetChat().GetContext().GetContext(); c.GetText() != "" || c.GetBytes() == 0 || c.GetSha256() == "" {
		t.Errorf("%v", c)
	}
	if g := node.GetGeneration(); g.GetTask() != "CHAT" || g.GetPromptDigest() != r.opened.GetPromptDigest() {
		t.Errorf("%v", g)
	}
	again := w.generate(q)
	if name := again.node(t).GetName(); name != node.GetName() || !again.stored.GetReplayed() {
		t.Errorf("the same request made %s", name)
	}
	next := &agentv1.GenerateNodeRequest{Flow: flow, Parent: node.GetName(), Text: "次は？", DryRun: true, Chat: &agentv1.Chat{}}
	roles := []string{}
	for _, m := range w.messages(t, next) {
		role, _, _ := strings.Cut(m, " ")
		roles = append(roles, role)
	}
	if diff := cmp.Diff([]string{"user", "assistant", "user", "assistant", "user", "assistant", "user"}, roles); diff != "" {
		t.Error(diff)
	}
}

// A real model asks for a node by a call of the tool, as its server reads it out of the answer, gets the node as a message of the
// tool, and goes on. A model of this size calls only what it is told to write; what it says at the end is its own.
func nodeCalledFor(t *testing.T, m mode) {
	w := open(t, m, testkit.ModelWithTools(t))
	flow := w.newFlow(t)
	ref := w.exchange(t, flow, "0196b2c4-4444-7aaa-8bbb-0000a1b2c304", "What colour is the sea?", "The sea is blue.", "The colour of the sea was chosen.", nil)
	user := "Write exactly this and nothing else:\n<tool_call>\n{\"name\": \"node_detail\", \"arguments\": {\"node_id\": \"a1b2c304\"}}\n</tool_call>"
	r := w.generate(&agentv1.GenerateNodeRequest{
		Flow: flow, Text: user, Sampling: &flowstorev1.Sampling{Temperature: proto.Float64(0), MaxTokens: 60},
		Chat: &agentv1.Chat{Source: agentv1.ChatSource_CHAT_SOURCE_CONTEXT, Locale: "en", Refs: &agentv1.NodeReferences{Ids: []string{ref}}},
	})
	texts := r.node(t).GetTexts()
	if d := r.details; len(d) == 0 || d[0].GetNode() != ref || d[0].GetId() != "a1b2c304" || !strings.Contains(d[0].GetText(), "The sea is blue.") {
		t.Fatalf("it asked for %v, and said %v", d, texts)
	}
	// The answer that only called leaves no text.
	if len(texts) < 3 || texts[0].GetContent() != user || texts[1].GetRole() != "tool" || texts[1].GetContent() != r.details[0].GetText() || texts[len(texts)-1].GetRole() != "assistant" {
		t.Errorf("%v", texts)
	}
}

// What a conversation would leave without effect is refused, all of it, and what a context refuses has its name in the conversation.
func conversationRefused(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	refuse := func(q *agentv1.GenerateNodeRequest, want refusal) {
		t.Helper()
		r := w.generate(q)
		r.rest(t)
		want.check(t, r.err)
	}
	bad := refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}
	refuse(&agentv1.GenerateNodeRequest{
		Flow: flow, Prompt: "x", PickSeed: 1, SendOverflow: true, EveryOption: true, Build: &promptbuilderv1.BuildStoryRequest{},
		Chat: &agentv1.Chat{NodeDetail: proto.Bool(true), LastNodes: proto.Int32(51), Locale: "en", Refs: &agentv1.NodeReferences{RefAncestors: 6}},
	}, bad.in("build", "chat.last_nodes", "chat.locale", "chat.node_detail", "chat.refs", "every_option", "pick_seed",
		"prompt", "send_overflow", "text"))
	refuse(&agentv1.GenerateNodeRequest{
		Flow: flow, Chat: &agentv1.Chat{Source: agentv1.ChatSource_CHAT_SOURCE_CONTEXT, Locale: "?", Counter: "x", TrimStep: -1, Texts: map[string]string{"x": ""}},
	}, bad.in("chat.counter", "chat.locale", `chat.texts["x"]`, "chat.trim_step", "text"))
	refuse(&agentv1.GenerateNodeRequest{Flow: flow, Text: "x", Chat: &agentv1.Chat{Source: agentv1.ChatSource_CHAT_SOURCE_CONTEXT, Locale: "?"}}, bad.in("chat.locale"))
	gone := "nodes/0192f0c1-0000-7c52-9b1e-3f6aaaaaaaaa"
	refuse(&agentv1.GenerateNodeRequest{
		Flow: flow, Text: "x", Chat: &agentv1.Chat{Source: agentv1.ChatSource_CHAT_SOURCE_CONTEXT, Refs: &agentv1.NodeReferences{Ids: []string{gone}}},
	}, refusal{code: codes.NotFound, reason: "NODE_NOT_FOUND"}.in("chat.refs.ids[0]"))
	refuse(&agentv1.GenerateNodeRequest{Flow: flow, Text: strings.Repeat("夜", 20_000), Chat: &agentv1.Chat{}}, refusal{code: codes.FailedPrecondition, reason: "CONTEXT_OVERFLOW"}.in("text"))
}
