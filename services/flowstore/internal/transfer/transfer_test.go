package transfer_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
)

func read(t *testing.T, text string, format transfer.Format) (entries []transfer.Entry) {
	t.Helper()
	if err := transfer.Read(strings.NewReader(text), format, func(e transfer.Entry) error {
		entries = append(entries, e)
		return nil
	}); err != nil {
		t.Fatalf("%.80q: %v", text, err)
	}
	return entries
}

// nodes draws what one conversation came to: the nodes before each, its texts, its note and its model.
func nodes(t *testing.T, e transfer.Entry) (lines []string) {
	t.Helper()
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	f := e.Bundle.Flow
	for i, n := range e.Bundle.Nodes {
		line := ""
		for _, p := range f.Parents(f.Members[i].Index) {
			line += fmt.Sprint(p.Index, ">")
		}
		line += fmt.Sprint(f.Members[i].Index)
		if f.Current == f.Members[i].Index {
			line += "*"
		}
		for _, text := range n.Texts {
			line += " " + text.Role[:1] + ":" + text.Content
		}
		if n.Note != "" {
			line += " (" + n.Note + ")"
		}
		lines = append(lines, strings.ReplaceAll(line, "\n", "/")+" "+n.Model)
	}
	return lines
}

// message is one of ChatGPT's; more is put into it, content behind the type.
func message(key, parent, role, content, more string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	if content == "" {
		content = `{"content_type":"text","parts":["` + key + `"]}`
	}
	return fmt.Sprintf(`%q:{"parent":%s,"message":{"author":{"role":%q},"content":%s%s}}`, key, parent, role, content, more)
}

func mapping(current string, messages ...string) string {
	return fmt.Sprintf(`{"id":"c","title":"t","current_node":%q,"mapping":{%s}}`, current, strings.Join(messages, ","))
}

func TestPairing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []string
		left map[string]int
	}{
		"k answers": {
			mapping("b", message("u", "null", "user", "", ""), message("a", "u", "assistant", "", `,"metadata":{"model_slug":"m"}`), message("b", "u", "assistant", "", "")),
			[]string{"1 u:u a:a m", "2* u:u a:b "}, nil,
		},
		"a prompt without an answer, and an answer without a prompt": {
			mapping("x", message("a", "null", "assistant", "", ""), message("u", "a", "user", "", ""), message("v", "u", "user", "", "")),
			[]string{"1 a:a ", "1>2 u:u ", "2>3* u:v "}, nil,
		},
		"answers behind each other": {
			mapping("c", message("u", "null", "user", "", ""), message("a", "u", "assistant", "", `,"channel":"commentary"`), message("b", "a", "assistant", "", `,"channel":"final"`), message("c", "b", "assistant", "", `,"channel":"final"`)),
			[]string{"1* u:u a:a//bc "}, nil,
		},
		"the middle of a joined answer goes on": {
			mapping("v", message("u", "null", "user", "", ""), message("a", "u", "assistant", "", ""), message("b", "a", "assistant", "", ""), message("v", "a", "user", "", "")),
			[]string{"1 u:u a:a ", "2 u:u a:ab ", "1>3* u:v "}, nil,
		},
		"thoughts, calls and their results": {
			mapping("a", message("u", "null", "user", "", ""), message("t", "u", "assistant", `{"content_type":"thoughts","thoughts":[{"summary":"s","content":"hm"},{"summary":"so"}]}`, ""),
				message("r", "t", "assistant", `{"content_type":"reasoning_recap","content":"9 s"}`, ""), message("k", "r", "assistant", `{"content_type":"code","text":"1+1"}`, `,"recipient":"python"`),
				message("o", "k", "tool", `{"content_type":"execution_output","text":"2"}`, ""), message("a", "o", "assistant", "", "")),
			[]string{"1* u:u a:a (hm//so) "}, map[string]int{"reasoning_recap": 1, "call of a tool": 1, "tool": 1},
		},
		"hidden, pictures, nothing": {
			mapping("z", message("h", "null", "user", "", `,"metadata":{"is_visually_hidden_from_conversation":true}`),
				message("u", "h", "user", `{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer"},"see",{"content_type":"audio_transcription","text":"said"}]}`, ""),
				message("e", "u", "assistant", `{"content_type":"text","parts":[""]}`, ""), message("z", "e", "assistant", "", "")),
			[]string{"1* u:see/said a:z "}, map[string]int{"hidden": 1, "image": 1, "empty message": 1},
		},
		"siblings as the parent lists them": {
			`{"id":"c","title":"t","mapping":{"b":{"parent":"u","message":{"author":{"role":"assistant"},"content":{"parts":["b"]}}},` + message("a", "u", "assistant", "", "") + `,"u":{"parent":null,"children":["a","b"],"message":{"author":{"role":"user"},"content":{"parts":["u"]}}}}}`,
			[]string{"1 u:u a:a ", "2* u:u a:b "}, nil,
		},
		"Claude by order, pasted texts, blocks": {
			`{"uuid":"c","name":"","chat_messages":[{"sender":"human","text":"q","attachments":[{"extracted_content":"long"},{"file_name":"x"}],"files":[{}]},
			{"sender":"assistant","text":"old","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"tool_use"},{"type":"tool_result"},{"type":"text","text":"c"}]}]}`,
			[]string{"1* u:long u:q a:ab//c "}, map[string]int{"attachment": 1, "file": 1, "call of a tool": 1, "tool": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := read(t, c.in, transfer.Any)
			if diff := cmp.Diff(c.want, nodes(t, e[0])); diff != "" {
				t.Error(diff)
			}
			if c.left == nil {
				c.left = map[string]int{}
			}
			if diff := cmp.Diff(c.left, e[0].Bundle.Left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A message without a time has that of the one before, or of the conversation.
func TestTimes(t *testing.T) {
	t.Parallel()
	e := read(t, `{"id":"c","create_time":1.5,"mapping":{`+message("u", "null", "user", "", "")+","+message("a", "u", "assistant", "", `,"create_time":1700000000.123456`)+","+
		message("v", "a", "user", "", `,"create_time":null`)+","+message("w", "v", "user", "", `,"create_time":1e300`)+","+message("x", "null", "user", "", `,"create_time":"soon"`)+`}}`, transfer.Any)
	var got []string
	for _, n := range e[0].Bundle.Nodes {
		got = append(got, n.Created.Format("2006-01-02T15:04:05.999999"))
	}
	want := []string{"2023-11-14T22:13:20.123456", "2023-11-14T22:13:20.123456", "2023-11-14T22:13:20.123456", "1970-01-01T00:00:01.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := e[0].Bundle.Left["time that cannot be read"]; n != 2 {
		t.Errorf("%d times are told to be none", n)
	}
}

// Half a character is not passed over: what stands in its place is told.
func TestHalvesOfCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`x\ud800y`: 1, `\ud83d\ude00`: 0, `\ude00\ud83d`: 2, `\\ud800`: 0, `\ud83d\u0041`: 1, `\ud83d\ud83d\ude00`: 1, `\"\u0041`: 0,
	} {
		e := read(t, `{"id":"c","mapping":{`+message("u", "null", "user", `{"content_type":"text","parts":["`+text+`"]}`, "")+`}}`, transfer.Any)
		if got := e[0].Bundle.Left["half a character, read as U+FFFD"]; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if held := strings.Count(e[0].Bundle.Nodes[0].Texts[0].Content, "\ufffd"); held != want {
			t.Errorf("%s: the text has %d", text, held)
		}
	}
}

func TestWhatIsWrongWithOneStopsNoOther(t *testing.T) {
	t.Parallel()
	good := mapping("a", message("u", "null", "user", "", ""), message("a", "u", "assistant", "", ""))
	deep := `{"id":"deep","mapping":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + "}"
	long := `{"id":"long","mapping":{"x":"` + strings.Repeat("x", transfer.MaxConversation) + `"}}`
	many := strings.Builder{}
	for i := range transfer.MaxMessages + 1 {
		fmt.Fprintf(&many, `,"%d":{}`, i)
	}
	for name, c := range map[string]struct{ in, want string }{
		"a circle":              {mapping("a", message("a", "b", "user", "", ""), message("b", "a", "user", "", ""), message("x", "a", "user", "", "")), "go round in a circle"},
		"its own parent":        {mapping("a", message("a", "a", "user", "", "")), "\"a\" is above itself"},
		"twice":                 {mapping("a", message("a", "null", "user", "", ""), message("a", "null", "user", "", "")), "stands there twice"},
		"twice in a list":       {`{"uuid":"c","chat_messages":[{"uuid":"m","sender":"human","text":"x"},{"uuid":"m","sender":"human","text":"y"}]}`, "stands there twice"},
		"too deep":              {deep, "max depth"},
		"too long":              {long, "64 MiB"},
		"too many messages":     {`{"mapping":{` + many.String()[1:] + `}}`, "more than 100000 messages"},
		"a text too long":       {mapping("u", message("u", "null", "user", `{"parts":["`+strings.Repeat("x", node.MaxText+1)+`"]}`, "")), "make two messages of it"},
		"broken inside":         {`{"id":"c","mapping":{"a":}}`, "invalid character"},
		"another type":          {`{"id":"c","mapping":[1]}`, "must be an object"},
		"an id without an end":  {`{"id":"` + strings.Repeat("x", 2000) + `","mapping":{}}`, "limit is 1024"},
		"none of the formats":   {`{"id":"c","mapping":null}`, "neither `mapping`"},
		"a line of ours, wrong": {`{"node":{"id":"00000000-0000-0000-0000-000000000001","colour":1}}`, "unknown field"},
		"a flow of ours, wrong": {`{"flow":{"id":"00000000-0000-0000-0000-000000000001","name":"n","nodes":[],"edges":[{"from":1,"to":2}]}}`, "1"},
		"another version":       {`{"tsumugi":{"version":9}}`, "version 9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, "["+good+","+c.in+",\n"+good+"]", transfer.Any)
			if len(got) < 3 || got[0].Err != nil || got[2].Err != nil {
				t.Fatalf("%d entries: %+v", len(got), got)
			}
			if err := got[1].Err; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// What follows cannot be read: that is told, and what came before counts.
func TestTornFiles(t *testing.T) {
	t.Parallel()
	good := mapping("a", message("u", "null", "user", "", ""))
	for _, c := range []struct {
		in   string
		good int
		want string
	}{
		{"[" + good + "," + good[:40], 1, "ends within a conversation"}, {"[" + good, 1, "ends before its array"}, {"[" + good + "] x", 1, "behind the end"},
		{"[" + good + " " + good + "]", 1, "stands where a conversation"}, {"[1]", 0, "stands where a conversation"}, {"[[" + good + "]]", 0, "stands where"},
		{`{"tsumugi":{"version":1}}`, 0, "no last line"},
	} {
		got := read(t, c.in, transfer.Any)
		if last := got[len(got)-1]; len(got) != c.good+1 || last.Err == nil || !strings.Contains(last.Err.Error(), c.want) {
			t.Errorf("%.20q…: %+v", c.in, got)
		}
	}
	if got := read(t, "\xef\xbb\xbf \n[]", transfer.Any); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestFormatThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for format, want := range map[transfer.Format]string{transfer.Claude: "no conversation of Claude", transfer.Tsumugi: "no line of our export", transfer.ChatGPT: ""} {
		err := read(t, mapping("u", message("u", "null", "user", "", "")), format)[0].Err
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// archive makes a ZIP archive of files, `name text`.
func archive(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		name, text, _ := strings.Cut(f, " ")
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestArchives(t *testing.T) {
	t.Parallel()
	good := mapping("a", message("u", "null", "user", "", ""))
	bomb := `conversations.json [{"a":"` + strings.Repeat("x", 8<<20) + `"}]`
	got := read(t, archive(t, "../../conversations-2.json ["+good+"]", "a/ ", bomb, "x.html <p>", "z/conversations.json not JSON"), transfer.Any)
	if len(got) != 4 || got[0].File != "../../conversations-2.json" || got[0].Err != nil || !got[2].Ignored || got[2].File != "x.html" {
		t.Fatalf("%+v", got)
	}
	if err := got[1].Err; err == nil || !strings.Contains(err.Error(), "250 times") {
		t.Errorf("a bomb: %v", err)
	}
	if got[3].Err == nil {
		t.Error("what is no JSON is read")
	}
	if got := read(t, archive(t, "chat.json "+good), transfer.Any); len(got) != 1 || got[0].Err != nil {
		t.Errorf("%+v", got)
	}
	torn := archive(t, "conversations.json ["+good+"]")
	torn = strings.Replace(torn, torn[60:70], "0123456789", 1)
	if got := read(t, torn, transfer.Any); len(got) != 1 || got[0].Err == nil {
		t.Errorf("a torn file: %+v", got)
	}
	names := make([]string, transfer.MaxEntries+1)
	for i := range names {
		names[i] = fmt.Sprint(i, " ")
	}
	for _, text := range []string{archive(t, names...), torn[:len(torn)-30], "PK" + strings.Repeat("x", transfer.MaxArchive)} {
		err := transfer.Read(strings.NewReader(text), transfer.Any, nil)
		var format *transfer.FormatError
		if !errors.As(err, &format) {
			t.Errorf("%v", err)
		}
	}
}

// The error of the one who reads ends the reading, in an archive too.
func TestErrorsOfTheReader(t *testing.T) {
	t.Parallel()
	own := errors.New("of the reader")
	good := mapping("a", message("u", "null", "user", "", ""))
	for _, text := range []string{"[" + good + "," + good + "]", archive(t, "conversations.json ["+good+","+good+"]")} {
		n := 0
		if err := transfer.Read(strings.NewReader(text), transfer.Any, func(transfer.Entry) error { n++; return own }); !errors.Is(err, own) || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
	}
}

// Joined answers that others go on from could grow with the square of the file.
func TestTextsOfAConversationAreBounded(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 100_000)
	var messages []string
	for i := range 400 {
		messages = append(messages, message(fmt.Sprint("u", i), "p", "assistant", `{"parts":["x"]}`, ""))
	}
	messages = append(messages, message("p", "null", "user", `{"parts":["`+strings.Repeat(text, 4)+`"]}`, ""))
	if err := read(t, mapping("p", messages...), transfer.Any)[0].Err; err == nil || !strings.Contains(err.Error(), "128 MiB") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	good := mapping("a", message("u", "null", "user", "", ""), message("a", "u", "assistant", "", ""))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("conversations.json")
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(json.NewEncoder(w).Encode([]json.RawMessage{json.RawMessage(good)}), z.Close()); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		good, "[" + good + "]", b.String(), `{"uuid":"c","chat_messages":[{"uuid":"m","sender":"human","text":"x","parent_message_uuid":"m"}]}`,
		"{\"tsumugi\":{\"version\":1}}\n{\"node\":{\"id\":\"00000000-0000-0000-0000-000000000001\",\"texts\":[{\"role\":\"user\",\"content\":\"\"}]}}\n" +
			"{\"flow\":{\"id\":\"00000000-0000-0000-0000-000000000002\",\"name\":\"n\",\"nodes\":[{\"index\":1,\"node\":\"00000000-0000-0000-0000-000000000001\"}],\"edges\":[],\"current\":1,\"next\":2}}\n{\"end\":{}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_ = transfer.Read(bytes.NewReader(raw), transfer.Any, func(e transfer.Entry) error {
			if (e.Err == nil) == (e.Bundle == nil && !e.Ignored) {
				t.Errorf("%+v", e)
			}
			if e.Bundle == nil {
				return nil
			}
			for _, n := range e.Bundle.Nodes {
				if wrong := n.Check(); len(wrong) > 0 {
					t.Errorf("%v", wrong)
				}
				if _, err := transfer.NodeLine(n); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
	})
}
