package format

import (
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// EncodeNode gives the file of a node (seed 004, 4.1). Texts are valid UTF-8, as gRPC delivers them; a byte that is not
// becomes U+FFFD.
func EncodeNode(n node.Node) []byte {
	size := 1024
	for _, t := range n.Texts {
		size += len(t.Content) + 128
	}
	w := &xmlWriter{out: make([]byte, 0, size)}
	w.out = append(w.out, xmlHead...)
	w.start("node", attr{"id", n.ID.String()}, attr{"timestamp", formatTime(n.Created)})
	w.contents(n.Texts)
	w.metadata(n)
	w.end("node")
	return w.out
}

func (w *xmlWriter) contents(texts []node.Text) {
	w.start("contents")
	for _, t := range texts {
		w.text(t)
	}
	w.end("contents")
}

func (w *xmlWriter) text(t node.Text) {
	w.section("text", t.Content,
		attr{"role", t.Role}, attr{"count", number(t.Count)}, attr{"duration", decimal(t.Duration)}, attr{"rate", decimal(t.Rate)})
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
		w.inline("score", decimalOf(n.Score))
	}
	if n.Note != "" {
		w.section("note", n.Note)
	}
	w.end("metadata")
}

// summary of a new node is an empty element that asks for one: updated="true" (field/flowstore.md row 24).
func (w *xmlWriter) summary(s node.Summary) {
	updated, built := attr{"updated", strconv.FormatBool(s.Stale)}, attr{"last_built", builtAt(s)}
	if s.Text == "" {
		w.empty("summary", updated, built)
		return
	}
	w.section("summary", s.Text, updated, built)
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
	w.start("generation", attr{"task", g.Task}, attr{"finish", g.Finish}, attr{"fault", g.Fault}, attr{"branch", g.Branch})
	w.part("backend", attr{"name", g.Backend}, attr{"kind", g.Kind}, attr{"address", g.Address}, attr{"model", g.Model},
		attr{"window", number(g.Window)}, attr{"tokenizer", g.Tokenizer})
	w.part("prompt", attr{"tokens", number(g.PromptTokens)}, attr{"cached", number(g.CachedTokens)},
		attr{"seconds", decimal(g.PromptSeconds)}, attr{"digest", g.PromptDigest})
	w.part("answer", attr{"tokens", number(g.AnswerTokens)}, attr{"seconds", decimal(g.AnswerSeconds)})
	if g.Error != "" {
		w.inline("error", g.Error)
	}
	if g.PickSeed != 0 || len(g.Picks) > 0 {
		w.list("picks", "pick", g.Picks, attr{"seed", unsigned(g.PickSeed)})
	}
	if g.Sampling != nil {
		w.sampling(g.Sampling)
	}
	w.part("request", attr{"digest", g.RequestDigest})
	w.end("generation")
}

// part writes an element of attributes, unless none has a value.
func (w *xmlWriter) part(name string, attrs ...attr) {
	for _, a := range attrs {
		if a.value != "" {
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

func unsigned(n uint32) string { return number(int(n)) }
