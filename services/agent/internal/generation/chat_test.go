package generation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// contexts is a nodecontext.Service that has the nodes of case C1 in its text.
type contexts struct {
	asked []nodecontext.Request
	last  []nodecontext.Node
	bare  bool // no node stands in the text
	gone  uuid.UUID
	long  int // characters of a node
	err   error
}

func printed(n int) nodecontext.Entry {
	return nodecontext.Entry{ID: uuid.MustParse(fmt.Sprintf("0196b2c4-1111-7aaa-8bbb-0000a1b2c30%d", n)), TextID: fmt.Sprintf("a1b2c30%d", n)}
}

func (c *contexts) Build(_ context.Context, _ string, r nodecontext.Request) (nodecontext.Context, error) {
	c.asked = append(c.asked, r)
	out := nodecontext.Context{Last: c.last, Seq: 7}
	if !c.bare {
		out.Built.Text = "文脈"
		for n := 1; n <= 5; n++ {
			out.Built.Entries = append(out.Built.Entries, printed(n))
		}
	}
	return out, c.err
}

func (c *contexts) Refusal(_ context.Context, _ string, r nodecontext.Request) error {
	c.asked = append(c.asked, r)
	return c.err
}

func (c *contexts) Detail(_ context.Context, _ string, _ nodecontext.Settings, e nodecontext.Entry, chars int) (string, error) {
	if e.ID == c.gone {
		return "", nodecontext.ErrNoNode
	}
	return "<node " + e.TextID + ">" + strings.Repeat("長", min(c.long, chars)), nil
}

func (*contexts) ToolText(context.Context, string, nodecontext.Settings) (string, error) {
	return "全文を返す。", nil
}

func (*contexts) LimitText(_ context.Context, _ string, _ nodecontext.Settings, textID string) (string, error) {
	return "limit " + textID, nil
}

func (*contexts) UnknownText(_ context.Context, _ string, _ nodecontext.Settings, textID string) (string, error) {
	return "unknown " + textID, nil
}

// script has the model say one answer after another.
func script(m *model, answers ...[]string) *model {
	m.fail = func(llm.Request) []step {
		said := answers[min(len(m.requests), len(answers))-1]
		var steps []step
		for _, text := range said {
			steps = append(steps, step{text: text})
		}
		return append(steps, step{})
	}
	return m
}

func spokenTexts(n generation.Node) (all []string) {
	for _, t := range n.Texts {
		all = append(all, t.Role+": "+t.Content)
	}
	return all
}

func dialogue(messages []llm.Message) (all []string) {
	for _, m := range messages {
		all = append(all, string(m.Role)+": "+m.Content)
	}
	return all
}

func (w *world) chat(text string) generation.Request {
	r := w.request(text)
	r.Chat = &generation.Chat{Context: true, Last: 1, System: "短く。"}
	return r
}

// What was said on the path is messages, verbatim; neighbours of one role are one message.
func TestAConversationOfThePath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("はい"))
	root := w.flows.put(nil, "system", "丁寧に。", "user", "一", "assistant", "いち")
	tool := w.flows.put([]uuid.UUID{root}, "user", "二", "tool", "2", "assistant", "に")
	req := w.request("三")
	req.Parent, req.Chat = tool, &generation.Chat{System: "短く。"}
	r := w.read(w.generate(req), 0)
	want := []string{"system: 短く。\n\n丁寧に。", "user: 一", "assistant: いち", "user: 二\n\n2", "assistant: に", "user: 三"}
	if diff := cmp.Diff(want, dialogue(w.model.requests[0].Messages)); diff != "" || w.model.requests[0].Prompt != "" || len(w.model.requests[0].Tools) != 0 {
		t.Errorf("%s %+v", diff, w.model.requests[0])
	}
	if diff := cmp.Diff([]string{"user: 三", "assistant: はい"}, spokenTexts(r.stored.Node)); diff != "" || r.stored.Node.Record.Task != "CHAT" {
		t.Error(diff)
	}
	if c := r.opened.Chat; len(c.Messages) != 0 || !slices.Equal(c.Nodes, []uuid.UUID{root, tool}) || r.opened.Build != nil {
		t.Errorf("%+v", c)
	}
	o, err := w.Preview(t.Context(), ns, req)
	if err != nil || cmp.Diff(want, dialogue(o.Chat.Messages)) != "" || o.PromptDigest != r.opened.PromptDigest {
		t.Errorf("%+v, %v", o, err)
	}
	req.Text = "四"
	if o, _ := w.Preview(t.Context(), ns, req); o.PromptDigest == r.opened.PromptDigest {
		t.Error("another message has the same digest")
	}
}

// Nodes that do not fit beside the answer go from the oldest, and are counted; what never goes does not fit: that is told.
func TestAConversationThatIsTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("はい"))
	var last uuid.UUID
	for n := range 10 {
		var parents []uuid.UUID
		if n > 0 {
			parents = []uuid.UUID{last}
		}
		last = w.flows.put(parents, "user", strings.Repeat("あ", 84), "assistant", strings.Repeat("い", 84)) // 200 tokens with both marks
	}
	req := w.request("終わり")
	req.Parent, req.Chat = last, &generation.Chat{}
	o, err := w.Preview(t.Context(), ns, req) // 1000 - 250 tokens
	if err != nil || len(o.Chat.Nodes) != 3 || o.Chat.Dropped != 7 || o.PromptTokens != 3+32+600 || len(o.Chat.Messages) != 7 {
		t.Errorf("%+v, %v", o, err)
	}
	req.Text = strings.Repeat("う", 740)
	var over *llm.OverflowError
	if _, err = w.Preview(t.Context(), ns, req); !errors.As(err, &over) || over.Field != "text" || over.Limit != 750 {
		t.Errorf("%v", err)
	}
	req.Sampling.MaxTokens = 1000
	var budget *llm.BudgetError
	if _, err = w.Preview(t.Context(), ns, req); !errors.As(err, &budget) {
		t.Errorf("%v", err)
	}
}

// Where branches were merged, the way of the messages is chosen as that of a story.
func TestAConversationBehindAMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("はい"))
	left, right := w.flows.put(nil, "user", "左"), w.flows.put(nil, "user", "右")
	req := w.request("次")
	req.Parent, req.Chat = w.flows.put([]uuid.UUID{left, right}, "assistant", "合流"), &generation.Chat{}
	var ambiguous *generation.AmbiguousError
	if _, err := w.Preview(t.Context(), ns, req); !errors.As(err, &ambiguous) {
		t.Errorf("%v", err)
	}
	req.Via = []uuid.UUID{right}
	o, err := w.Preview(t.Context(), ns, req)
	if err != nil || cmp.Diff([]string{"user: 右", "assistant: 合流", "user: 次"}, dialogue(o.Chat.Messages)) != "" {
		t.Errorf("%+v, %v", o.Chat, err)
	}
}

// The context stands in the system message, the last nodes behind it as messages, and the model has the tool.
func TestAConversationWithAContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("はい"))
	w.contexts.last = []nodecontext.Node{{ID: uuid.New(), Texts: []nodecontext.Text{{Role: "user", Content: "前"}, {Role: "assistant", Content: "まえ"}}}}
	req := w.chat("次")
	r := w.read(w.generate(req), 0)
	asked := w.model.requests[0]
	if diff := cmp.Diff([]string{"system: 短く。\n\n文脈", "user: 前", "assistant: まえ", "user: 次"}, dialogue(asked.Messages)); diff != "" {
		t.Error(diff)
	}
	tool := []llm.Tool{{Name: "node_detail", Description: "全文を返す。", Schema: `{"type":"object","properties":{"node_id":{"type":"string"}},"required":["node_id"],"additionalProperties":false}`}}
	if diff := cmp.Diff(tool, asked.Tools); diff != "" {
		t.Error(diff)
	}
	if q := w.contexts.asked[0]; q.Settings.Backend != "m" || !q.Settings.NoCurrent || q.Settings.NoDetails || q.Last != 1 {
		t.Errorf("%+v", q)
	}
	if c := r.opened.Chat; !c.Detail || c.Context.Seq != 7 || c.Context.Built.Text != "" || len(c.Nodes) != 1 {
		t.Errorf("%+v", c)
	}
	req = w.chat("次")
	req.Chat.NoDetail = true
	w.read(w.generate(req), 0)
	w.contexts.bare, req = true, w.chat("次")
	r = w.read(w.generate(req), 0)
	for i, asked := range w.model.requests[1:] {
		if len(asked.Tools) != 0 {
			t.Errorf("request %d has tools", i+1)
		}
	}
	if r.opened.Chat.Detail || dialogue(w.model.requests[2].Messages)[0] != "system: 短く。" {
		t.Errorf("%+v", r.opened.Chat)
	}
}

// Asked by sentences, the model gets the nodes as a message of the user, and goes on: both answers are kept, and what it was shown.
func TestANodeIsAskedForBySentence(t *testing.T) {
	t.Parallel()
	first := []string{"その前に確認します。\n", "[a1b2c304]の詳細を知りたい\n「[A1B2C305]の詳細を知りたい」。"}
	w := newWorld(t, script(says("x"), first, []string{"わかり", "ました。"}))
	req := w.chat("方言は？")
	r := w.read(w.generate(req), 0)
	text := strings.Join(first, "")
	want := []string{"user: 方言は？", "assistant: " + text, "tool: <node a1b2c304>", "tool: <node a1b2c305>", "assistant: わかりました。"}
	if diff := cmp.Diff(want, spokenTexts(r.stored.Node)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]generation.Detail{
		{ID: 3, Asked: "a1b2c304", Node: printed(4).ID, Outcome: "SHOWN", Text: "<node a1b2c304>"},
		{ID: 4, Asked: "a1b2c305", Node: printed(5).ID, Outcome: "SHOWN", Text: "<node a1b2c305>"},
	}, r.details); diff != "" || r.text != text+"わかりました。" || r.stored.ID != 7 {
		t.Errorf("%s, stored %d", diff, r.stored.ID)
	}
	again := w.model.requests[1].Messages
	if diff := cmp.Diff([]string{"user: 方言は？", "assistant: " + text, "user: <node a1b2c304>\n\n<node a1b2c305>"}, dialogue(again[len(again)-3:])); diff != "" {
		t.Error(diff)
	}
	if rec := r.stored.Node.Record; rec.AnswerTokens != 2 || rec.PromptTokens != 7 {
		t.Errorf("%+v", rec)
	}
	v, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 3)
	if err != nil {
		t.Fatal(err)
	}
	if late := w.read(v, 3); len(late.details) != 1 || late.text != "わかりました。" {
		t.Errorf("from event 3 on: %+v", late)
	}
	w.restart()
	if again := w.read(w.generate(req), 0); !again.stored.Replayed || cmp.Diff(want, spokenTexts(again.stored.Node)) != "" || w.model.calls() != 2 {
		t.Errorf("%+v", again)
	}
}

// A server that takes no tools is sent none, and none where a grammar leaves no room for a call; the model may ask by a sentence
// all the same.
func TestAServerWithoutTools(t *testing.T) {
	t.Parallel()
	for _, grammar := range []string{"", `root ::= "a"`} {
		w := newWorld(t, script(says("x"), []string{"[a1b2c304]の詳細を知りたい"}, []string{"はい"}))
		w.model.toolless = grammar == ""
		req := w.chat("方言は？")
		req.Sampling.Grammar = grammar
		r := w.read(w.generate(req), 0)
		if len(w.model.requests[0].Tools) != 0 || len(r.details) != 1 || !r.opened.Chat.Detail {
			t.Errorf("grammar %q: tools %v, details %+v", grammar, w.model.requests[0].Tools, r.details)
		}
	}
}

// Asked by tool calls, each call is answered by a message of the tool, but that of a node which is asked for already. What is not in the
// context, what went away, and a fourth node are not shown.
func TestANodeIsAskedForByTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, script(says("x"), []string{"確認。"}, []string{"終わり。"}))
	call := func(id string) llm.ToolCall {
		return llm.ToolCall{ID: "c-" + id, Name: "node_detail", Arguments: `{"node_id":"` + id + `"}`}
	}
	w.contexts.gone = printed(3).ID
	w.model.asks = func(llm.Request) []llm.ToolCall {
		if len(w.model.requests) > 1 {
			return nil
		}
		return []llm.ToolCall{
			call("A1B2C301"), call("ffffffff"), {Name: "rm", Arguments: "{}"}, {ID: "other", Name: "node_detail", Arguments: "{}"}, call("a1b2c301"),
			call("a1b2c303"), call("a1b2c302"), {Name: "node_detail", Arguments: `{"node_id":"a1b2c304"}`}, call("a1b2c305"),
		}
	}
	r := w.read(w.generate(w.chat("方言は？")), 0)
	var told []string
	for _, d := range r.details {
		told = append(told, fmt.Sprint(d.Asked, " ", d.Outcome))
	}
	want := []string{"A1B2C301 SHOWN", "ffffffff UNKNOWN", "rm UNKNOWN", "{} UNKNOWN", "a1b2c303 UNKNOWN", "a1b2c302 SHOWN", "a1b2c304 SHOWN", "a1b2c305 LIMIT"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	last := w.model.requests[1].Messages
	if err := (llm.Request{Messages: last, Sampling: llm.Sampling{MaxTokens: 1}}).Check(); err != nil {
		t.Error(err)
	}
	answered := map[string]bool{} // two of the calls came without an id
	for _, m := range last {
		if m.CallID != "" && answered[m.CallID] {
			t.Errorf("two calls have the id %q", m.CallID)
		}
		answered[m.CallID] = true
	}
	if diff := cmp.Diff([]string{
		"assistant: 確認。", "tool: <node a1b2c301>", "tool: unknown ffffffff", "tool: unknown rm", "tool: unknown {}",
		"tool: unknown a1b2c303", "tool: <node a1b2c302>", "tool: <node a1b2c304>", "tool: limit a1b2c305",
	}, dialogue(last[len(last)-9:])); diff != "" {
		t.Error(diff)
	}
	texts := spokenTexts(r.stored.Node)
	if texts[1] != "assistant: 確認。" || texts[2] != "tool: <node a1b2c301>" || texts[len(texts)-1] != "assistant: 終わり。" {
		t.Errorf("%q", texts)
	}
}

// Of very many calls in one answer only some are looked at.
func TestAModelThatAsksForVeryMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, script(says("x"), []string{}, []string{"終わり。"}))
	w.model.asks = func(llm.Request) []llm.ToolCall {
		if len(w.model.requests) == 1 {
			return slices.Repeat([]llm.ToolCall{{Name: "rm", Arguments: "{}"}}, 2000)
		}
		return nil
	}
	if r := w.read(w.generate(w.chat("方言は？")), 0); len(r.details) != 16 || len(r.stored.Node.Texts) != 18 {
		t.Errorf("%d details, %d texts", len(r.details), len(r.stored.Node.Texts))
	}
}

// A model that asks again when it has been answered gets no further call, in whatever way it asks: its answer stands, and what it
// asked for is told.
func TestAModelThatNeverStopsAsking(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]func(llm.Request) []llm.ToolCall{
		"by a sentence": nil,
		"by a call": func(llm.Request) []llm.ToolCall {
			return []llm.ToolCall{{Name: "node_detail", Arguments: `{"node_id":"a1b2c301"}`}}
		},
	} {
		w := newWorld(t, script(says("x"), []string{"Show the details of [a1b2c301]"}))
		w.model.asks = asks
		r := w.read(w.generate(w.chat("方言は？")), 0)
		var told []string
		for _, d := range r.details {
			told = append(told, fmt.Sprint(d.Asked, " ", d.Outcome, " ", d.Text))
		}
		if diff := cmp.Diff([]string{"a1b2c301 SHOWN <node a1b2c301>", "a1b2c301 LIMIT "}, told); diff != "" || w.model.calls() != 2 || r.stored == nil {
			t.Fatalf("%s: %d calls, %v: %s", name, w.model.calls(), r.err, diff)
		}
		said := "assistant: Show the details of [a1b2c301]"
		if diff := cmp.Diff([]string{"user: 方言は？", said, "tool: <node a1b2c301>", said}, spokenTexts(r.stored.Node)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A node is shown as far as the window has room for it beside the answer, and not at all where that is next to nothing.
func TestANodeThatTheWindowHasNoRoomFor(t *testing.T) {
	t.Parallel()
	for window, want := range map[int]string{20000: "SHOWN 8000", 8000: "SHOWN 4000", 1500: "SHOWN 500", 1000: "LIMIT 0"} {
		w := newWorld(t, script(says("x"), []string{"Show the details of [a1b2c301]"}, []string{"終わり"}))
		w.contexts.long = 9000
		w.prompts.measured = func(int) llm.Identity {
			own := identity
			own.Window = window
			return own
		}
		w.model.window = func() (llm.Identity, error) { return w.prompts.measured(0), nil }
		r := w.read(w.generate(w.chat("方言は？")), 0)
		if r.stored == nil || len(r.details) != 1 {
			t.Fatalf("%v, %+v", r.err, r.details)
		}
		if got := fmt.Sprint(r.details[0].Outcome, " ", strings.Count(r.details[0].Text, "長")); got != want {
			t.Errorf("window %d: %s, want %s", window, got, want)
		}
	}
}

// An answer that was cut asks for nothing.
func TestAnAnswerThatWasCutAsksForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("[a1b2c301]の詳細を知りたい"))
	w.model.result.Finish = llm.FinishLength
	if r := w.read(w.generate(w.chat("方言は？")), 0); len(r.details) != 0 || w.model.calls() != 1 {
		t.Errorf("%+v", r.details)
	}
}

// Cancelled behind a node that it was shown, what was said is kept; a conversation that failed is made anew by the same request.
func TestAConversationThatIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("x"))
		w.model.fail = func(llm.Request) []step {
			if len(w.model.requests) == 1 {
				return []step{{text: "[a1b2c301]の詳細を知りたい"}, {}}
			}
			return []step{{wait: time.Minute, text: "遅い"}, {}}
		}
		req := w.chat("方言は？")
		v := w.generate(req)
		synctest.Wait()
		if _, err := w.Cancel(t.Context(), ns, generation.NodeID(req.ID, 0)); err != nil {
			t.Fatal(err)
		}
		r := w.read(v, 0)
		var cut *generation.CutError
		if !errors.As(r.err, &cut) {
			t.Fatal(r.err)
		}
		want := []string{"user: 方言は？", "assistant: [a1b2c301]の詳細を知りたい", "tool: <node a1b2c301>"}
		if n, err := w.flows.Node(t.Context(), ns, cut.Node); err != nil || cmp.Diff(want, spokenTexts(n)) != "" {
			t.Errorf("%q, %v", spokenTexts(n), err)
		}
	})
}

// Several answers to one message share its conversation.
func TestVariantsOfAConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("はい"))
	req := w.chat("方言は？")
	req.Variants = 3
	a, err := w.GenerateSeveral(t.Context(), ns, req)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	stored := 0
	err = a.Read(t.Context(), func(_ int, e generation.Event) error {
		if _, ok := e.(generation.Stored); ok {
			stored++
		}
		return nil
	})
	if err != nil || stored != 3 || len(w.contexts.asked) != 1 {
		t.Errorf("%d nodes of %d contexts, %v", stored, len(w.contexts.asked), err)
	}
}

// The digest of a request without a conversation is what it was; with one, every field of it counts.
func TestTheConversationIsInTheDigest(t *testing.T) {
	t.Parallel()
	one := generation.Request{Text: "x"}
	other := one
	other.Chat = &generation.Chat{}
	third := one
	third.Chat = &generation.Chat{Settings: nodecontext.Settings{Texts: map[string]string{"node": "{prompt}"}}}
	if one.Digest() == other.Digest() || other.Digest() == third.Digest() {
		t.Error("two requests have one digest")
	}
}

// A reader who is far behind gets the texts joined, but never over a node that the model was shown.
func TestWhatIsJoinedEndsAtANode(t *testing.T) {
	t.Parallel()
	many := slices.Repeat([]string{"あ"}, 400)
	w := newWorld(t, script(says("x"), append(slices.Clone(many), "\nShow the details of [a1b2c301]"), many))
	req := w.chat("方言は？")
	v := w.generate(req)
	w.read(w.generate(req), 0) // to its end
	defer v.Close()
	var told []string
	for {
		e, err := v.Next(t.Context())
		if err != nil {
			break
		}
		switch e := e.(type) {
		case generation.Text:
			told = append(told, fmt.Sprint("text ", e.ID, " ", len([]rune(e.Text))))
		case generation.Detail:
			told = append(told, fmt.Sprint("detail ", e.ID))
		case generation.Lagged:
			told = append(told, fmt.Sprint("lagged ", e.Joined))
		}
	}
	want := []string{"lagged 802", fmt.Sprint("text 401 ", 400+len("\nShow the details of [a1b2c301]")), "detail 402", "text 802 400"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}
