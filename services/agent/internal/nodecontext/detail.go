package nodecontext

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// Tool is what a model calls to ask for a node of its context (field/systemprompt-rules.md 4).
const Tool = "node_detail"

// ToolSchema are the arguments of that tool.
const ToolSchema = `{"type":"object","properties":{"node_id":{"type":"string"}},"required":["node_id"],"additionalProperties":false}`

// The texts of the tool, by promptbuilder's ids: what it does, and what it answers to no avail.
const (
	textTool    = "node_detail"
	textLimit   = "node_detail.limit"
	textUnknown = "node_detail.unknown"
)

// ToolText is what a model is told of the tool.
func (s *Service) ToolText(ctx context.Context, ns string, set Settings) (string, error) {
	return s.text(ctx, ns, set, textTool, nil)
}

// LimitText tells a model that it has had as many nodes as it may.
func (s *Service) LimitText(ctx context.Context, ns string, set Settings, textID string) (string, error) {
	return s.text(ctx, ns, set, textLimit, map[string]string{"id": textID})
}

// UnknownText tells a model that an id is not in its context.
func (s *Service) UnknownText(ctx context.Context, ns string, set Settings, textID string) (string, error) {
	return s.text(ctx, ns, set, textUnknown, map[string]string{"id": textID})
}

// text is a text of the caller's own, else the default one.
func (s *Service) text(ctx context.Context, ns string, set Settings, id string, values map[string]string) (string, error) {
	own, ok := set.Texts[id]
	if !ok {
		return s.prompts.Text(ctx, ns, set.Locale, id, values)
	}
	return strings.ReplaceAll(own, "{id}", values["id"]), nil
}

// Detail is a node as it is shown to a model that asked for it, at most so many characters of its texts. ErrNoNode where it is no
// longer there.
func (s *Service) Detail(ctx context.Context, ns string, set Settings, e Entry, chars int) (string, error) {
	n, err := s.flows.Glance(ctx, ns, e.ID, Everything)
	if err != nil {
		return "", err
	}
	return s.prompts.BuildDetail(ctx, ns, set, e.TextID, n.full(), chars)
}

// Printed is the entry of a node that stands in the text, by the id under which it does, in any case.
func (b Built) Printed(textID string) (Entry, bool) {
	i := slices.IndexFunc(b.Entries, func(e Entry) bool { return e.TextID != "" && strings.EqualFold(e.TextID, textID) })
	if i < 0 {
		return Entry{}, false
	}
	return b.Entries[i], true
}

// AnyPrinted says that a node stands in the text under an id.
func (b Built) AnyPrinted() bool {
	return slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.TextID != "" })
}

// asking are the sentences by which a model asks for a node.
var asking = regexp.MustCompile(`^(?:\[([0-9A-Fa-f-]+)\]の詳細を知りたい|Show the details of \[([0-9A-Fa-f-]+)\])$`)

// Asked gives the nodes that an answer asks for by sentences, each once: those at its end, of nodes that stand in the text, up to
// the first line that is none (field/systemprompt-rules.md 4).
func (b Built) Asked(answer string) (asked []Entry) {
	for _, line := range slices.Backward(strings.Split(answer, "\n")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := asking.FindStringSubmatch(bare(line))
		if m == nil {
			break
		}
		e, ok := b.Printed(m[1] + m[2])
		if !ok {
			break
		}
		asked = append(asked, e)
	}
	slices.Reverse(asked)
	return once(asked)
}

func once(all []Entry) (each []Entry) {
	for _, e := range all {
		if !slices.Contains(each, e) {
			each = append(each, e)
		}
	}
	return each
}

// bare takes a full stop and one pair of quotation marks from around a sentence.
func bare(line string) string {
	line, stopped := unstopped(line)
	for _, pair := range [][2]string{{"「", "」"}, {`"`, `"`}} {
		inner, opened := strings.CutPrefix(line, pair[0])
		if inner, closed := strings.CutSuffix(inner, pair[1]); opened && closed {
			line = strings.TrimSpace(inner)
			break
		}
	}
	if !stopped {
		line, _ = unstopped(line)
	}
	return line
}

func unstopped(line string) (text string, stopped bool) {
	for _, stop := range []string{"。", "."} {
		if text, ok := strings.CutSuffix(line, stop); ok {
			return strings.TrimSpace(text), true
		}
	}
	return line, false
}
