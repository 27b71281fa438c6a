package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func ptr[T any](v T) *T { return &v }

var (
	id1  = uuid.MustParse("0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")
	id2  = uuid.MustParse("0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b")
	id3  = uuid.MustParse("0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b")
	noon = time.Date(2025, 5, 9, 6, 48, 6, 533720000, time.FixedZone("", 9*3600))
)

// whole is a node with everything that a node can have.
func whole() node.Node {
	return node.Node{
		ID: id1, Created: noon, Model: "gemma-2-2b-jpn-it",
		Texts: []node.Text{
			{Role: "user", Content: "夜明け前の町は静かだった。\n\n「誰かいるの？」", Count: 21, Duration: 0.25, Rate: 84},
			{Role: "assistant", Content: "返事はなかった。", Count: 8, Duration: 1.2, Rate: 6.67},
		},
		Tags:    []string{"夜明け", "R&D <1>"},
		Summary: node.Summary{Text: "町に誰もいない。", Built: noon.Add(time.Second)},
		Score:   ptr(4.5), Note: "二行目が\nよい。",
		Generation: &node.Generation{
			Backend: "gemma", Kind: "llamacpp", Address: "http://127.0.0.1:18080", Tokenizer: "5d41402abc4b2a76", Model: "gemma.gguf",
			Window: 4096, PromptDigest: "9f86d081884c7d65", Task: "CONT_INFO", PickSeed: 42,
			Picks:        []string{"story.note#0=1"},
			Sampling:     &sampling.Sampling{Temperature: ptr(0.8), TopP: ptr(0.95), TopK: ptr(0), MinP: ptr(0.0), RepeatPenalty: ptr(1.1), Seed: ptr(uint32(7)), MaxTokens: 250, Stop: []string{"***", "\n\n"}},
			PromptTokens: 3200, CachedTokens: 1200, AnswerTokens: 8, PromptSeconds: 1.25, AnswerSeconds: 0.5,
			Finish: "backend_error", Fault: "cut", Branch: "雨 / 夜", Error: "the model server went away", RequestDigest: "2c26b46b68ffc68f",
		},
	}
}

// everyKnob is a sampling that says everything.
func everyKnob() *sampling.Sampling {
	return &sampling.Sampling{
		Temperature: ptr(0.0), TopK: ptr(40), TopP: ptr(0.95), MinP: ptr(0.05), TypicalP: ptr(0.9), TopA: ptr(0.2), TailFree: ptr(0.95),
		RepeatPenalty: ptr(1.1), RepeatSlope: ptr(0.7), RepeatRange: ptr(0), PresencePenalty: ptr(-0.5), FrequencyPenalty: ptr(1e-7),
		DRY: &sampling.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Range: 1024, Breakers: []string{"\n", "\"<\x00"}},
		XTC: &sampling.XTC{Probability: 0.5, Threshold: 0.1}, Mirostat: &sampling.Mirostat{Mode: 2, Tau: 5, Eta: 0.1},
		DynamicTemperature: &sampling.DynamicTemperature{Range: 0.5, Exponent: 1.5}, Smoothing: &sampling.Smoothing{Factor: 0.3, Curve: 1},
		LogitBias: []sampling.Bias{{Token: 0, Bias: -100}, {Token: 5}}, BanEOS: true, Grammar: "root ::= \"はい\" | [^]]>\n\r",
		Seed: ptr(uint32(0)), MaxTokens: 250, Stop: []string{"***"},
	}
}

func person() node.Node {
	return node.Node{ID: id1, Created: noon, Texts: []node.Text{{Role: "user", Content: "序章"}}, Summary: node.Summary{Stale: true}}
}

// sameTime compares times as instants with the same zone offset.
var sameTime = cmp.Comparer(func(a, b time.Time) bool {
	return a.Equal(b) && a.Format(time.RFC3339Nano) == b.Format(time.RFC3339Nano)
})

func decodeNode(t *testing.T, data []byte) node.Node {
	t.Helper()
	n, err := format.DecodeNode(data)
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	return n
}

func TestNodeFiles(t *testing.T) {
	t.Parallel()
	empty := person()
	empty.Texts[0].Content = ""
	knobs, off := person(), person()
	knobs.Generation = &node.Generation{Sampling: everyKnob()}
	off.Generation = &node.Generation{Sampling: &sampling.Sampling{
		DRY: &sampling.DRY{}, XTC: &sampling.XTC{}, Mirostat: &sampling.Mirostat{}, DynamicTemperature: &sampling.DynamicTemperature{}, Smoothing: &sampling.Smoothing{},
	}}
	for name, n := range map[string]node.Node{"whole.xml": whole(), "person.xml": person(), "empty.xml": empty, "knobs.xml": knobs, "off.xml": off} {
		data := format.EncodeNode(n)
		testkit.Golden(t, name, data)
		if diff := cmp.Diff(n, decodeNode(t, data), sameTime); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// roundTrip writes a text into a node file and reads it back.
func roundTrip(t *testing.T, text string) (data []byte, back string) {
	t.Helper()
	n := person()
	n.Texts[0].Content = text
	data = format.EncodeNode(n)
	return data, decodeNode(t, data).Texts[0].Content
}

// cases/flowstore.md 22: control characters make the file unreadable later.
func TestFlowstore22ControlCharacters(t *testing.T) {
	t.Parallel()
	for text, escaped := range map[string]bool{
		"\x1b[31mred\x1b[0m": true, "a\x00b": true, "a\ufffeb": true, "\uffff": true, "\x00\\u{0007}\\\\": true,
		`literal \u{0007} and \`: false, "\ufeffstart": false, "tab\tand\nline": false, "\x7f\u0085\u2028": false, "か\u3099": false,
		"👩‍👩‍👧": false,
	} {
		data, back := roundTrip(t, text)
		if back != text {
			t.Errorf("%q came back as %q", text, back)
		}
		if got := strings.Contains(string(data), `esc="u"`); got != escaped {
			t.Errorf("%q: esc is %v\n%s", text, got, data)
		}
	}
}

// cases/flowstore.md 23: `]]>` and line ends at the edges of a text.
func TestFlowstore23SectionEndsAndEdges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`if (a[b[0]]>1) return "]]>";`, "]]", "]]>", "", "\n", "\n\nx\n", "  x  ", "]]" + ">", "]]]]>>", "<![CDATA[", "&amp;&#13;", "]]\r>", "-->",
	} {
		if _, back := roundTrip(t, text); back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
	byHand := `<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06Z"><contents>` +
		"<text role=\"user\"><![CDATA[no padding]]></text><text role=\"assistant\">&lt;plain&gt;\n</text>" +
		"<text role=\"user\"><![CDATA[\n]]></text><text role=\"user\">\n</text><text role=\"user\">\n\n</text></contents></node>"
	var texts []string
	for _, text := range decodeNode(t, []byte(byHand)).Texts {
		texts = append(texts, text.Content)
	}
	if diff := cmp.Diff([]string{"no padding", "<plain>\n", "\n", "\n", ""}, texts); diff != "" {
		t.Error(diff)
	}
}

// cases/flowstore.md 25: carriage returns in a text stay; those of a file that was converted on disk do not become part of it.
func TestFlowstore25LineEnds(t *testing.T) {
	t.Parallel()
	const text = "a\r\nb\rc\n\r"
	data, back := roundTrip(t, text)
	if back != text {
		t.Errorf("came back as %q", back)
	}
	converted := strings.ReplaceAll(string(data), "\n", "\r\n")
	if got := decodeNode(t, []byte(converted)).Texts[0].Content; got != text {
		t.Errorf("after the conversion: %q", got)
	}
}

// cases/flowstore.md 14: a byte order mark is read over; half a file is refused with the reason.
func TestFlowstore14ByteOrderMarkAndHalfAFile(t *testing.T) {
	t.Parallel()
	data := format.EncodeNode(whole())
	if diff := cmp.Diff(whole(), decodeNode(t, append([]byte("\ufeff"), data...)), sameTime); diff != "" {
		t.Error(diff)
	}
	for n := range data[:len(data)-1] {
		if _, err := format.DecodeNode(data[:n]); err == nil {
			t.Fatalf("the first %d bytes were taken for a node", n)
		}
	}
	_, err := format.DecodeNode(data[:100])
	if got := fmt.Sprint(err); got != "line 2: the file ends in the middle of an element" {
		t.Errorf("the reason is %q", got)
	}
}

func TestEverywhereEscaped(t *testing.T) {
	t.Parallel()
	const odd = "\x00\\ \"<&>'\r\n\t ]]>\uffff"
	n := whole()
	n.Model, n.Tags, n.Summary.Text = odd, []string{odd, "\n", " "}, odd
	n.Note = odd
	g := n.Generation
	g.Backend, g.Kind, g.Address, g.Tokenizer, g.Model, g.Task, g.Finish, g.Fault, g.Branch = odd, odd, odd, odd, odd, odd, odd, odd, odd
	g.PromptDigest, g.RequestDigest, g.Error, g.Picks, g.Sampling.Stop = odd, odd, odd, []string{odd}, []string{odd, "\r"}
	n.Texts[0].Role = odd
	if diff := cmp.Diff(n, decodeNode(t, format.EncodeNode(n)), sameTime); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidUTF8BecomesReadable(t *testing.T) {
	t.Parallel()
	n := person()
	n.Texts[0].Content, n.Model = "a\xffb\x00", "\xc3"
	got := decodeNode(t, format.EncodeNode(n))
	if got.Texts[0].Content != "a\ufffdb\x00" || got.Model != "\ufffd" {
		t.Errorf("%q, %q", got.Texts[0].Content, got.Model)
	}
}

// What the original of seed 004 writes, and what a person may (field/flowstore.md rows 4, 5, 7, 11, 12, 24).
func TestForeignNodeFile(t *testing.T) {
	t.Parallel()
	n := decodeNode(t, []byte(`<?xml version="1.0" encoding="UTF-8"?>
<!-- kept by hand -->
<node timestamp="2025-05-09T06:48:06+09:00" id="0197A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B" colour="red">
  <contents>
    <content role="user" count="6" duration="1.20" rate="4.99"><![CDATA[
問い
]]></content>
    <note>passed over</note>
    <text role="assistant"/>
  </contents>
  <metadata>
    <summary updated="false"></summary>
    <tags tag="last"><tag>first</tag></tags>
    <score> -1 </score>
    <note>short</note>
    <stars>5</stars>
  </metadata>
</node>
<!-- the end -->
`))
	want := node.Node{
		ID: id1, Created: noon.Truncate(time.Second),
		Texts:   []node.Text{{Role: "user", Content: "問い", Count: 6, Duration: 1.2, Rate: 4.99}, {Role: "assistant"}},
		Tags:    []string{"first", "last"},
		Summary: node.Summary{Stale: true},
		Score:   ptr(-1.0), Note: "short",
	}
	if diff := cmp.Diff(want, n, sameTime); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableNodes(t *testing.T) {
	t.Parallel()
	const head = `<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06Z">`
	cases := map[string]struct{ data, want string }{
		"nothing":         {"", "holds no element"},
		"zeros":           {strings.Repeat("\x00", 50), "line 1: illegal character code U+0000"},
		"another root":    {"<html/>", "line 1: expected element type <node> but have <html>"},
		"cut":             {head + "<contents>", "line 1: the file ends in the middle of an element"},
		"conflict":        {head + "\n<<<<<<< HEAD\n</node>", "line 2: expected element name after <"},
		"two nodes":       {head + "</node>\n" + head + "</node>", "line 2: a second element <node> begins behind the end of the node"},
		"text behind":     {head + "</node>\nx", "line 2: there is text behind the end of the node"},
		"no id":           {`<node timestamp="2025-05-09T06:48:06Z"/>`, `"" is not a UUID such as 0192f000-0000-7000-8000-000000000001`},
		"zero id":         {`<node id="00000000-0000-0000-0000-000000000000" timestamp="2025-05-09T06:48:06Z"/>`, "the id is all zeros"},
		"braced id":       {`<node id="{0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b}" timestamp="2025-05-09T06:48:06Z"/>`, `"{0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b}" is not a UUID such as 0192f000-0000-7000-8000-000000000001`},
		"no time":         {`<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"/>`, `timestamp: "" is not a time such as 2025-05-09T06:48:06.533720+09:00`},
		"bad count":       {head + `<contents><text count="six"/></contents></node>`, `count="six" is not a whole number`},
		"bad rate":        {head + `<contents><text rate="fast"/></contents></node>`, `rate="fast" is not a number`},
		"bad seed":        {head + `<metadata><generation><picks seed="-1"/></generation></metadata></node>`, `seed="-1" is not a whole number from 0 to 4294967295`},
		"bad switch":      {head + `<metadata><generation><sampling ban_eos="yes"/></generation></metadata></node>`, `ban_eos="yes" is neither true nor false`},
		"bad mode":        {head + `<metadata><generation><sampling><mirostat mode="x"/></sampling></generation></metadata></node>`, `mode="x" is not a whole number`},
		"unknown esc":     {head + `<contents><text esc="x">a</text></contents></node>`, `esc="x" is not known; it is esc="u" or absent`},
		"element in text": {head + `<contents><text>a<b>c</b></text></contents></node>`, "there is an element <b> within a text; write &lt; for a bracket, or use a CDATA section"},
		"attribute twice": {`<node id="a" id="b"/>`, "<node> has the attribute id twice"},
		"other encoding":  {`<?xml version="1.0" encoding="shift_jis"?>` + head + "</node>", `line 1: encoding "shift_jis" declared but Decoder.CharsetReader is nil`},
		"bad score":       {head + `<metadata><score>good</score></metadata></node>`, `score="good" is not a number`},
		"no number":       {head + `<metadata><score>NaN</score></metadata></node>`, `score="NaN" is not a number`},
		"entity":          {head + "<contents><text>&bomb;</text></contents></node>", "line 1: invalid character entity &bomb;"},
		"deep":            {head + strings.Repeat("<a>", 20), "elements are nested more than 16 deep"},
		"attributes":      {"<node " + manyAttributes(65) + "/>", "<node> has more than 64 attributes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := format.DecodeNode([]byte(c.data))
			var own *format.Error
			if !errors.As(err, &own) || own.Reason != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The head is that of the whole node, and a file is refused for the same reason, wherever in it that is.
func TestNodeHead(t *testing.T) {
	t.Parallel()
	canonical := string(format.EncodeNode(whole()))
	for name, data := range map[string]string{
		"canonical": canonical,
		"edited":    strings.Replace(canonical, "<contents>", "<!-- mine --><contents>", 1),
		"bad count": strings.Replace(canonical, `count="21"`, `count="six"`, 1),
		"bad esc":   strings.Replace(canonical, "<tag>", `<tag esc="x">`, 1),
		"cut":       canonical[:len(canonical)-10],
		"in a text": strings.Replace(canonical, "返事", "\x01", 1),
	} {
		want, wantErr := format.DecodeNode([]byte(data))
		id, created, err := format.Reader{}.NodeHead([]byte(data))
		if id != want.ID || !created.Equal(want.Created) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", name, id, created, err, want.ID, want.Created, wantErr)
		}
	}
}

// field/flowstore.md rows 9 and 11: what a hand-made file says unclearly is read, and told.
func TestNodeWarnings(t *testing.T) {
	t.Parallel()
	sound := string(format.EncodeNode(whole()))
	const zone = ` has no zone, such as Z or +09:00; it is taken for UTC`
	for name, c := range map[string]struct {
		data string
		want []string
	}{
		"clear":    {sound, nil},
		"no zone":  {strings.Replace(sound, "06:48:06.533720+09:00", "06:48:06", 1), []string{`timestamp="2025-05-09T06:48:06"` + zone}},
		"no zones": {strings.ReplaceAll(sound, "+09:00", ""), []string{`timestamp="2025-05-09T06:48:06.533720"` + zone, `last_built="2025-05-09T06:48:07.533720"` + zone}},
		"Latin-1":  {strings.Replace(sound, "返事は", "caf\xe9\n", 1), []string{"line 10 holds bytes that are not UTF-8; there and below, U+FFFD stands for them"}},
	} {
		n := decodeNode(t, []byte(c.data))
		if diff := cmp.Diff(c.want, n.Warnings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if name == "Latin-1" && n.Texts[1].Content != "caf\ufffd\nなかった。" {
			t.Errorf("%q", n.Texts[1].Content)
		}
	}
}

func manyAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `a%d="" `, i)
	}
	return b.String()
}

func TestFileSizeIsBounded(t *testing.T) {
	t.Parallel()
	huge := make([]byte, format.MaxFile+1)
	const want = "is 67108865 bytes long; the limit is 67108864"
	if _, err := format.DecodeNode(huge); err == nil || err.Error() != want {
		t.Errorf("node: %v", err)
	}
	if _, err := format.DecodeFlow(huge); err == nil || err.Error() != want {
		t.Errorf("flow: %v", err)
	}
	if err := format.CheckConfig(huge); err == nil || err.Error() != want {
		t.Errorf("config: %v", err)
	}
}
