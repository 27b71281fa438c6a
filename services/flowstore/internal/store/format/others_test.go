package format_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// etree is the XML reader of Python's own library.
const etree = "xml.etree.ElementTree"

// python runs a script over files and reads the JSON that it prints. Without Python, or the module, the test is skipped;
// but the model, where it is asked for, is installed with Python, and then it must be there with what comes with it.
func python(t *testing.T, module, script string, files []string, dst any) {
	t.Helper()
	if out, err := exec.Command("python3", "-c", "import "+module).CombinedOutput(); err != nil {
		if module == etree && testkit.Need("model") {
			t.Fatalf("TSUMUGI_NEED names the model, which needs python3: %v: %s", err, out)
		}
		t.Skipf("python3 with %s is not installed: nothing to compare with", module)
	}
	cmd := exec.Command("python3", append([]string{"-c", script}, files...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	if err := json.Unmarshal(out, dst); err != nil {
		t.Fatal(err)
	}
}

// oddTexts are the texts of the cases that hold something for readers to stumble over, without those that need esc.
var oddTexts = append([]string{
	`if (a[b[0]]>1) return "]]>";`, "]]>", "", "\n\nx\n", "a\r\nb\rc\n", "]]\r>", "\ufeffstart", `literal \u{0007} and \`, "&lt;<>'\"",
}, "\u0085\u2028", "か\u3099👩‍👩‍👧")

// cases/flowstore.md 22, 23 and 25: Python's ElementTree reads the texts that we wrote; one with characters that XML does not know, as
// it is escaped.
func TestPythonReadsNodes(t *testing.T) {
	t.Parallel()
	var files []string
	dir := t.TempDir()
	want := map[string]string{"\x1b[31mred\\\ufffe": `\u{001B}[31mred\\\u{FFFE}`}
	read := append([]string{"\x1b[31mred\\\ufffe"}, oddTexts...)
	for i, text := range read {
		n := whole()
		n.Texts, n.Tags = []node.Text{{Role: "user", Content: text}}, []string{text + "."}
		files = append(files, writeFile(t, dir, strconv.Itoa(i)+".xml", format.EncodeNode(n)))
	}
	var got [][2]string
	python(t, etree, `
import sys, json, xml.etree.ElementTree as e
r = [e.parse(f).getroot() for f in sys.argv[1:]]
print(json.dumps([[x.find("contents/text").text, x.find("metadata/tags/tag").text] for x in r]))`, files, &got)
	for i, text := range read {
		if escaped, ok := want[text]; ok {
			text = escaped
		}
		if got[i] != [2]string{"\n" + text + "\n", text + "."} {
			t.Errorf("%q: Python reads %q", text, got[i])
		}
	}
}

// cases/flowstore.md 22: xmllint takes every file, the escaped ones as well.
func TestXmllintTakesNodes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("xmllint is not installed: nothing to compare with")
	}
	for _, text := range append([]string{"\x00\x1b", "\ufffe"}, oddTexts...) {
		n := whole()
		n.Texts[0].Content, n.Model = text, text
		cmd := exec.Command("xmllint", "--noout", "-")
		cmd.Stdin = bytes.NewReader(format.EncodeNode(n))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", text, err, out)
		}
	}
}

// cases/flowstore.md 20: PyYAML reads the texts that we wrote as texts.
func TestPythonReadsFlows(t *testing.T) {
	t.Parallel()
	var files []string
	dir := t.TempDir()
	for i, text := range case20 {
		f := novel()
		f.Name, f.Story.Synopsis, f.Story.Genres = text, &text, []string{text, "x"}
		f.Edges = []flow.Edge{{From: 1, To: 2}, {From: 1, To: 3, Name: text}}
		f.Heads = []flow.Head{{Name: text + " ", Index: 3}}
		files = append(files, writeFile(t, dir, strconv.Itoa(i)+".yaml", format.EncodeFlow(f)))
	}
	var got [][]any
	python(t, "yaml", `
import sys, json, yaml
r = [yaml.safe_load(open(f, encoding="utf-8")) for f in sys.argv[1:]]
print(json.dumps([[x["name"], x["story"]["synopsis"], x["story"]["genres"][0], x["current"], len(x["nodes"]), x["connections"], x["heads"]] for x in r]))`, files, &got)
	for i, text := range case20 {
		named := map[string]any{"from": 1.0, "to": 3.0, "name": text}
		if text == "" {
			delete(named, "name")
		}
		edges := []any{map[string]any{"from": 1.0, "to": 2.0}, named}
		if diff := cmp.Diff([]any{text, text, text, 3.0, 3.0, edges, map[string]any{text + " ": 3.0}}, got[i]); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func writeFile(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A -0 that a hand wrote is 0, in an element of our form and in one of another.
func TestMinusZeroIsZero(t *testing.T) {
	t.Parallel()
	half := 0.5
	n := whole()
	n.Texts[0].Rate, n.Generation.Sampling.Temperature = 0.5, &half
	for _, edit := range []string{"<contents>", "<contents >"} {
		data := bytes.ReplaceAll(format.EncodeNode(n), []byte(`"0.5"`), []byte(`"-0"`))
		got, err := format.DecodeNode(bytes.Replace(data, []byte("<contents>"), []byte(edit), 1))
		if err != nil || math.Signbit(got.Texts[0].Rate) || math.Signbit(*got.Generation.Sampling.Temperature) {
			t.Errorf("%+v: %v", got, err)
		}
	}
}
