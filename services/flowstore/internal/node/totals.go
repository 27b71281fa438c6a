package node

import "unicode/utf8"

// MaxTotalModels is how many models Totals name.
const MaxTotalModels = 100

// Totals are the sums over nodes.
type Totals struct {
	// Nodes are those that could be read, Unreadable the others.
	Nodes, Unreadable int
	Texts             int
	// Characters are code points.
	Characters int
	// Tokens are those of the texts that tell theirs; Uncounted are the texts that hold something and do not.
	Tokens, Uncounted int
	// Seconds are what model servers took for the texts that tell it.
	Seconds float64
	// Models are the names of models, in the order of the nodes, each once, at most MaxTotalModels; ModelCount counts all.
	Models     []string
	ModelCount int

	known map[string]bool
}

// Add adds a node.
func (t *Totals) Add(n Node) {
	t.Nodes++
	t.Texts += len(n.Texts)
	for _, text := range n.Texts {
		t.Characters += utf8.RuneCountInString(text.Content)
		t.Tokens += max(text.Count, 0)
		t.Seconds += max(text.Duration, 0)
		if text.Count <= 0 && text.Content != "" {
			t.Uncounted++
		}
	}
	if n.Model == "" || t.known[n.Model] {
		return
	}
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.known[n.Model] = true
	if t.ModelCount++; len(t.Models) < MaxTotalModels {
		t.Models = append(t.Models, n.Model)
	}
}
