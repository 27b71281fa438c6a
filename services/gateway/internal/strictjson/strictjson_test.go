package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

func decode(raw string, bound map[string]string, into any) (*Body, error) {
	b := NewBody([]byte(raw), bound)
	return b, New().NewDecoder(b).Decode(into)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const node = "a string of whole Unicode characters"
	for name, tt := range map[string]struct{ body, field, description string }{
		"unknown field":           {`{"flw":"x"}`, "flw", "there is no such field; did you mean flow? There are flow, newNode, node, nodeId, parents, children, setCurrent, requestId, head (line 1, column 2)"},
		"unknown deep down":       {`{"newNode":{"texts":[{"role":"user"},{"rol":"user"}]}}`, "newNode.texts[1].rol", "there is no such field; did you mean role? There are role, content, tokenCount, durationSeconds, tokensPerSecond (line 1, column 39)"},
		"unknown with big value":  {`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "x", "there is no such field; there are flow, newNode, node, nodeId, parents, children, setCurrent, requestId, head (line 1, column 2)"},
		"wrong type":              {"{\n  \"flow\": 5}", "flow", "must be " + node + " (line 2, column 11)"},
		"wrong type in a list":    {`{"parents":["a",["b"]]}`, "parents[1]", "must be " + node + " (line 1, column 17)"},
		"an object":               {`{"node":{"texts":[]}}`, "node", "must be " + node + ", and is an object (line 1, column 9)"},
		"a list for a number":     {`{"newNode":{"score":[5]}}`, "newNode.score", "must be a number, and is a list (line 1, column 21)"},
		"no list":                 {`{"parents":"a"}`, "parents", "must be a list of items, each " + node + " (line 1, column 12)"},
		"null in a list":          {`{"parents":[null]}`, "parents[0]", "must be " + node + " (line 1, column 13)"},
		"no object":               {`{"newNode":"nodes/1"}`, "newNode", "must be an object with the fields texts, model, tags, generation, etag, summary, score, note (line 1, column 12)"},
		"out of range":            {`{"newNode":{"texts":[{"tokenCount":2147483648}]}}`, "newNode.texts[0].tokenCount", "must be a whole number from -2147483648 to 2147483647 (line 1, column 36)"},
		"fraction":                {`{"newNode":{"texts":[{"tokenCount":1.5}]}}`, "newNode.texts[0].tokenCount", "must be a whole number from -2147483648 to 2147483647 (line 1, column 36)"},
		"negative":                {`{"newNode":{"generation":{"pickSeed":-1}}}`, "newNode.generation.pickSeed", "must be a whole number from 0 to 4294967295 (line 1, column 38)"},
		"no number":               {`{"newNode":{"texts":[{"durationSeconds":"fast"}]}}`, "newNode.texts[0].durationSeconds", "must be a number (line 1, column 41)"},
		"no bool":                 {`{"setCurrent":"yes"}`, "setCurrent", "must be true or false (line 1, column 15)"},
		"no time":                 {`{"newNode":{"createTime":"yesterday"}}`, "newNode.createTime", "must be a time such as 2026-01-31T12:00:00Z (line 1, column 26)"},
		"twice":                   {`{"flow":"a","flow":"b"}`, "flow", "is given twice (line 1, column 13)"},
		"twice in two spellings":  {`{"nodeId":"a","node_id":"b"}`, "node_id", "is given twice (line 1, column 15)"},
		"two of a oneof":          {`{"node":"a","newNode":{}}`, "newNode", "only one of the fields that exclude each other may be given (line 1, column 13)"},
		"after Japanese":          {`{"flow":"紡ぎ","x":1}`, "x", "there is no such field; there are flow, newNode, node, nodeId, parents, children, setCurrent, requestId, head (line 1, column 14)"},
		"a list":                  {`["flow"]`, "", "must be an object with the fields flow, newNode, node, nodeId, parents, children, setCurrent, requestId, head (line 1, column 1)"},
		"null":                    {`null`, "", "must be an object with the fields flow, newNode, node, nodeId, parents, children, setCurrent, requestId, head (line 1, column 1)"},
		"a second document":       {`{"flow":"a"} {"flow":"b"}`, "", "is not one JSON object (line 1, column 14)"},
		"garbage behind":          {"{}\nx", "", "is not one JSON object (line 2, column 1)"},
		"cut off":                 {`{"flow":"a"`, "", "ends before the JSON object does"},
		"no quotes":               {`{flow:1}`, "", "is not one JSON object (line 1, column 2)"},
		"comma at the end":        {`{"flow":"a",}`, "", "is not one JSON object (line 1, column 13)"},
		"invalid UTF-8":           {"{\"flow\":\"\xff\"}", "", "is not UTF-8"},
		"half a character":        {`{"flow":"\ud83e......."}`, "flow", "must be " + node + " (line 1, column 9)"},
		"half, at the end":        {`{"flow":"\ud83e"}`, "", "holds half a character (one of \\ud800 to \\udfff without its other half)"},
		"a form":                  {`flow=a`, "", "is not one JSON object (line 1, column 1)"},
		"contradicts the path":    {`{"flow":"flows/b"}`, "flow", `the path says "flows/a": leave it out, or say the same`},
		"byte order mark":         {"\ufeff{}", "", "is not one JSON object (line 1, column 1)"},
		"XML":                     {`<node/>`, "", "is not one JSON object (line 1, column 1)"},
		"trailing NUL":            {"{}\x00", "", "is not one JSON object (line 1, column 3)"},
		"a key of another object": {`{"texts":[]}`, "texts", "there is no such field; there are flow, newNode, node, nodeId, parents, children, setCurrent, requestId, head (line 1, column 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := decode(tt.body, map[string]string{"flow": "flows/a"}, &flowstorev1.AddNodeRequest{})
			var e *apierr.Error
			if !errors.As(err, &e) || !errors.Is(b.Err(), err) {
				t.Fatalf("got %v, remembered %v", err, b.Err())
			}
			want := []apierr.Violation{{Field: tt.field, Description: tt.description}}
			if diff := cmp.Diff(want, e.Violations); diff != "" || e.Code != codes.InvalidArgument || e.Reason != "INVALID_JSON" {
				t.Errorf("%v %s\n%s", e.Code, e.Reason, diff)
			}
			if !strings.HasPrefix(e.Message, "the body: ") || !strings.Contains(e.Message, tt.description) {
				t.Errorf("the message is %q", e.Message)
			}
		})
	}
}

func TestEnumValuesAreNamed(t *testing.T) {
	t.Parallel()
	_, err := decode(`{"onDisconnect":"STAY"}`, nil, &agentv1.GenerateNodeRequest{})
	want := "the body: onDisconnect: must be one of ON_DISCONNECT_CANCEL, ON_DISCONNECT_CONTINUE (line 1, column 17)"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want *flowstorev1.AddNodeRequest
	}{
		"JSON names":              {`{"nodeId":"a","setCurrent":true}`, &flowstorev1.AddNodeRequest{NodeId: "a", SetCurrent: true}},
		"proto names":             {`{"node_id":"a","set_current":true}`, &flowstorev1.AddNodeRequest{NodeId: "a", SetCurrent: true}},
		"null is absent":          {`{"nodeId":null,"newNode":null,"parents":null}`, &flowstorev1.AddNodeRequest{}},
		"space around":            {" \r\n{} \n", &flowstorev1.AddNodeRequest{}},
		"the path repeated":       {`{"flow":"flows/a"}`, &flowstorev1.AddNodeRequest{Flow: "flows/a"}},
		"escapes":                 {`{"nodeId":"\u7d21\ud83e\uddf5\u0000"}`, &flowstorev1.AddNodeRequest{NodeId: "紡🧵\x00"}},
		"a number that is a text": {`{"newNode":{"texts":[{"tokenCount":"7"}]}}`, &flowstorev1.AddNodeRequest{Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{TokenCount: 7}}}}}},
	} {
		got := &flowstorev1.AddNodeRequest{}
		b, err := decode(tt.body, map[string]string{"flow": "flows/a"}, got)
		if diff := cmp.Diff(tt.want, got, protocmp.Transform()); err != nil || b.Err() != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// A body that is one field of the request arrives as a pointer to a message.
func TestFieldAsBody(t *testing.T) {
	t.Parallel()
	var node *flowstorev1.Node
	if _, err := decode(`{"model":"phi4-mini:3.8b"}`, nil, &node); err != nil || node.GetModel() != "phi4-mini:3.8b" {
		t.Errorf("%v, %v", node, err)
	}
	node = nil
	if _, err := decode(" \n", nil, &node); !errors.Is(err, io.EOF) || node != nil {
		t.Errorf("an empty body: %v, %v", node, err)
	}
}

func TestWhatIsNoBody(t *testing.T) {
	t.Parallel()
	if err := New().NewDecoder(strings.NewReader("{}")).Decode(&flowstorev1.Node{}); err == nil {
		t.Error("a body that was not read by the gateway was decoded")
	}
}

// Every key is there, numbers are numbers, and an absent optional field is absent.
func TestMarshal(t *testing.T) {
	t.Parallel()
	got, err := Marshal(&flowstorev1.Text{Content: "紡ぎ<&>\u2028", TokenCount: 12, DurationSeconds: 1.2})
	var compact map[string]any
	if err != nil || json.Unmarshal(got, &compact) != nil {
		t.Fatalf("%s, %v", got, err)
	}
	want := map[string]any{"role": "", "content": "紡ぎ<&>\u2028", "tokenCount": 12.0, "durationSeconds": 1.2, "tokensPerSecond": 0.0, "characterCount": 0.0, "offset": 0.0}
	if diff := cmp.Diff(want, compact); diff != "" || strings.Contains(string(got), `\u`) {
		t.Errorf("%s\n%s", got, diff)
	}
	got, err = Marshal(&commonv1.Story{Title: proto.String("")})
	if err != nil || json.Unmarshal(got, &compact) != nil || strings.Contains(string(got), "plot") || !strings.Contains(string(got), "title") {
		t.Errorf("%s, %v", got, err)
	}
}

// A body is taken or refused with a sentence, never a panic; what was taken comes back the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, ``, `{"newNode":{"texts":[{"role":"user","content":"紡ぎ"}]},"parents":["a"]}`, `{"flow":1}`, "{\"flow\":\"\xff\"}",
		`{"a":[[[[{"b":`, `{"parents":[{"x":[]}]}`, `{"flow":"\ud800"}`, "\n\n{\"newNode\":{\"tags\":[\"\",1]}}", `{"":1}`, `{}{}`, `[1,{"a":2}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := &flowstorev1.AddNodeRequest{}
		b := NewBody(raw, nil)
		err := New().NewDecoder(b).Decode(got)
		var e *apierr.Error
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			if !errors.As(err, &e) || len(e.Violations) != 1 || strings.Contains(e.Message, "proto:") {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		again := &flowstorev1.AddNodeRequest{}
		out, err := Marshal(got)
		if err == nil {
			err = New().NewDecoder(NewBody(out, nil)).Decode(again)
		}
		if err != nil || !proto.Equal(got, again) {
			t.Fatalf("%q came back as %v, %v", raw, again, err)
		}
	})
}

func ExampleBody() {
	body := NewBody([]byte(`{"displayName": "夜の図書館", "desription": "…"}`), nil)
	err := New().NewDecoder(body).Decode(&flowstorev1.Flow{})
	fmt.Println(err)
	// Output: the body: desription: there is no such field; did you mean description? There are displayName, description, story, etag, heads, links (line 1, column 26)
}
