package e2e

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// odd are texts that formats, protocols and well-meaning programs like to change.
var odd = map[string]string{
	"NUL":                  "a\x00b",
	"control characters":   "\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x1b[31m\x1f\x7f\u0080\u0085\u009f",
	"end of CDATA":         "]]>]]&gt;<![CDATA[ ]] >&amp;&#0;",
	"line ends":            "一\r二\r\n三\n\r四\u2028五\u2029\r",
	"emoji with joiners":   "👩‍👩‍👧‍👦🏳️‍🌈👍🏽",
	"lone combining marks": "\u3099か\u3099\u0301\u200d\ufe0f",
	"not composed":         "が is か\u3099, é is e\u0301",
	"white space":          " \t　行頭と行末 \u00a0\u200b \n\n\n",
	"no characters":        "\ufeff\ufffe\uffff\U0001ffff\ufffd",
	"directions":           "\u202eabc\u202c\u2066\u2069",
	"YAML and TSV":         "---\n- a: 'b'\t\"c\" # d\n...\n",
	"empty":                "",
}

// What a writer wrote is what is stored and given back, over gRPC and REST, before and behind a restart, and in a node
// that a model continued.
func verbatim(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	all := &flowstorev1.Node{Tags: []string{"か\u3099]]>"}}
	for _, text := range odd {
		all.Texts = append(all.Texts, &flowstorev1.Text{Role: "user", Content: text})
	}
	stored := map[string][]*flowstorev1.Text{}
	added, err := w.flows.AddNode(w.ctx, &flowstorev1.AddNodeRequest{Flow: flow, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: all}})
	if err != nil {
		t.Fatal(err)
	}
	stored[added.Node.Name] = all.Texts
	var overREST flowstorev1.Node
	w.post(t, "/v1/nodes", all).into(t, &overREST)
	stored[overREST.Name] = all.Texts
	for name, text := range odd {
		if text == "" {
			continue
		}
		q := short(flow, "")
		q.Text, q.Sampling.MaxTokens = text, 1
		node := w.generate(q).node(t)
		if len(node.Texts) == 0 || node.Texts[0].Content != text {
			t.Errorf("%s: the node of the generation begins with %q", name, node.Texts)
		}
		stored[node.Name] = node.Texts
	}
	same := func(when string) {
		for name, texts := range stored {
			var read flowstorev1.Node
			w.rest(t, http.MethodGet, "/v1/"+name, nil).into(t, &read)
			for how, got := range map[string]*flowstorev1.Node{"gRPC": w.node(t, name), "REST": &read} {
				if diff := cmp.Diff(texts, got.Texts, protocmp.Transform()); diff != "" {
					t.Errorf("%s over %s: %s", when, how, diff)
				}
			}
		}
	}
	same("at once")
	w.files(t)
	w.restart(t)
	same("behind a restart")
}
