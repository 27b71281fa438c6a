package format

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// EncodeNode gives the file of a node (seed 004, 4.1). Texts are valid UTF-8, as gRPC delivers them; a byte that is not
// becomes U+FFFD.
func EncodeNode(n node.Node) []byte {
	w := nodeWriters.Get().(*xmlWriter)
	w.out = append(append(w.out[:0], xmlHead...), `<node id="`...)
	w.out = append(appendID(w.out, n.ID), `" timestamp="`...)
	w.out = append(appendTime(w.out, n.Created), "\">\n"...)
	w.contents(n.Texts)
	w.metadata(n)
	w.end("node")
	file := bytes.Clone(w.out)
	if cap(w.out) <= maxKept {
		nodeWriters.Put(w)
	}
	return file
}

// nodeWriters are kept, so that a file is memory of its own length and nothing else; those of large nodes are not.
var nodeWriters = sync.Pool{New: func() any { return &xmlWriter{} }}

const maxKept = 64 << 10

func (w *xmlWriter) contents(texts []node.Text) {
	w.start("contents")
	for _, t := range texts {
		w.text(t)
	}
	w.end("contents")
}

func (w *xmlWriter) text(t node.Text) {
	w.section("text", t.Content,
		value("role", t.Role), number("count", t.Count), decimal("duration", t.Duration), decimal("rate", t.Rate))
}

const xmlHead = `<?xml version="1.0" encoding="utf-8"?>` + "\n"

func (w *xmlWriter) metadata(n node.Node) {
	w.start("metadata")
	if n.Model != "" {
		w.inline("model", n.Model)
	}
	if n.Generation != nil {
		w.generation(n.Generation)
	}
	w.summary(n.Summary)
	if len(n.Tags) > 0 {
		w.start("tags")
		for _, tag := range n.Tags {
			w.inline("tag", tag)
		}
		w.end("tags")
	}
	if n.Score != nil {
		w.inline("score", scoreOf(n.Score))
	}
	if n.Note != "" {
		w.section("note", n.Note)
	}
	w.end("metadata")
}

// scoreOf is a score as it is written; empty where there is none.
func scoreOf(score *float64) string {
	a := decimalOf("", score)
	return string(a.append(nil))
}

// summary of a new node is an empty element that asks for one: updated="true" (field/flowstore.md row 24).
func (w *xmlWriter) summary(s node.Summary) {
	updated, built, source := value("updated", strconv.FormatBool(s.Stale)), value("last_built", builtAt(s)), value("source", s.Source)
	if s.Text == "" {
		w.empty("summary", updated, built)
		return
	}
	w.section("summary", s.Text, updated, built, source)
}

// builtAt is the time of a summary as it is written; empty for one that was never made.
func builtAt(s node.Summary) string {
	if s.Built.IsZero() {
		return ""
	}
	return formatTime(s.Built)
}

// generation says how the answer was made (design 3). What is unknown is left out.
func (w *xmlWriter) generation(g *node.Generation) {
	w.start("generation", value("task", g.Task), value("finish", g.Finish), value("fault", g.Fault), value("branch", g.Branch))
	w.part("backend", value("name", g.Backend), value("kind", g.Kind), value("address", g.Address), value("model", g.Model),
		number("window", g.Window), value("tokenizer", g.Tokenizer))
	w.part("prompt", number("tokens", g.PromptTokens), number("cached", g.CachedTokens),
		decimal("seconds", g.PromptSeconds), value("digest", g.PromptDigest))
	w.part("answer", number("tokens", g.AnswerTokens), decimal("seconds", g.AnswerSeconds))
	if g.Error != "" {
		w.inline("error", g.Error)
	}
	if g.PickSeed != 0 || len(g.Picks) > 0 {
		w.list("picks", "pick", g.Picks, number("seed", int(g.PickSeed)))
	}
	if g.Sampling != nil {
		w.sampling(g.Sampling)
	}
	w.part("request", value("digest", g.RequestDigest))
	w.end("generation")
}

// part writes an element of attributes, unless none has a value.
func (w *xmlWriter) part(name string, attrs ...attr) {
	for _, a := range attrs {
		if !a.absent() {
			w.empty(name, attrs...)
			return
		}
	}
}

// list writes an element with one element for each item.
func (w *xmlWriter) list(name, item string, items []string, attrs ...attr) {
	if len(items) == 0 {
		w.empty(name, attrs...)
		return
	}
	w.start(name, attrs...)
	for _, text := range items {
		w.inline(item, text)
	}
	w.end(name)
}
