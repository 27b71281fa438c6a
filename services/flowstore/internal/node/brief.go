package node

// BriefText is how many characters (code points) of a text a Brief has (field/flowstore.md 6, cases/flowstore.md 34).
const BriefText = 200

// Brief is a node with the beginnings of its texts and its summary, and without its Generation and Note, for lists.
type Brief struct {
	// Node is short; where Characters is nil, it is whole.
	Node
	// Characters are the lengths of the whole texts, in code points.
	Characters []int
	// SummaryCharacters is the length of the whole summary, in code points; 0 where the node is whole.
	SummaryCharacters int
	// Whole is the Etag of the whole node; empty where the node is whole.
	Whole string
}

// Brief shortens a node.
func (n Node) Brief() Brief {
	b := Brief{Node: n, Characters: make([]int, len(n.Texts)), Whole: n.Etag()}
	b.Generation, b.Note, b.Texts = nil, "", make([]Text, len(n.Texts))
	b.Summary.Text, b.SummaryCharacters = beginning(n.Summary.Text)
	for i, t := range n.Texts {
		t.Content, b.Characters[i] = beginning(t.Content)
		b.Texts[i] = t
	}
	return b
}

// beginning cuts a text behind BriefText characters, and counts them all.
func beginning(text string) (start string, characters int) {
	start = text
	for at := range text {
		if characters == BriefText {
			start = text[:at]
		}
		characters++
	}
	return start, characters
}

// Weight is how much text was read for it: bytes, or the characters of one that is short.
func (b Brief) Weight() int {
	weight := 0
	for i, t := range b.Texts {
		if b.Characters != nil {
			weight += b.Characters[i]
		} else {
			weight += len(t.Content)
		}
	}
	return weight
}
