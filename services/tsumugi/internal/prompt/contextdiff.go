package prompt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/jsoninput"
)

// earlierContext reads a reply of BuildNodeContext or BuildContext. Fields of another version of the service are no hindrance.
func earlierContext(text []byte) (*promptbuilderv1.BuildContextResponse, error) {
	lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
	chosen, given := &agentv1.BuildNodeContextResponse{}, &promptbuilderv1.BuildContextResponse{}
	if err := lenient.Unmarshal(text, chosen); err == nil && chosen.GetContext().GetText() != "" {
		return chosen.GetContext(), nil
	}
	if err := lenient.Unmarshal(text, given); err != nil {
		return nil, jsoninput.Plain(err)
	}
	if given.GetText() == "" {
		return nil, errors.New("it has no text; an earlier reply is what --json writes")
	}
	return given, nil
}

// contextDifference tells how much of a context a cache can keep, the line that moved the prefix, and what became of the nodes.
func contextDifference(now, before *promptbuilderv1.BuildContextResponse) string {
	var b strings.Builder
	a, z := now.GetText(), before.GetText()
	n := commonPrefix(a, z)
	if a == z {
		fmt.Fprintf(&b, "nothing changed: %d bytes\n", len(a))
	} else {
		fmt.Fprintf(&b, "equal at the beginning: %d of %d bytes (%d.%d %%)\n", n, len(a), n*100/max(1, len(a)), n*1000/max(1, len(a))%10)
		fmt.Fprintf(&b, "first change, now:    %s\n              before: %s\n", lineAt(a, n), lineAt(z, n))
	}
	old := map[string]*promptbuilderv1.ContextEntry{}
	for _, e := range before.GetEntries() {
		old[entryOf(e)] = e
	}
	for _, e := range now.GetEntries() {
		was, known := old[entryOf(e)]
		delete(old, entryOf(e))
		switch form := word(e.GetForm(), "NODE_FORM_"); {
		case !known:
			fmt.Fprintf(&b, "%s %-8s  %s\n", added, form, entryOf(e))
		case was.GetForm() != e.GetForm():
			fmt.Fprintf(&b, "%s %-8s  %s, before: %s\n", changed, form, entryOf(e), word(was.GetForm(), "NODE_FORM_"))
		}
	}
	for _, e := range before.GetEntries() {
		if old[entryOf(e)] != nil {
			fmt.Fprintf(&b, "gone: %s\n", entryOf(e))
		}
	}
	return b.String()
}

// entryOf tells a node of the path from the same one as a reference.
func entryOf(e *promptbuilderv1.ContextEntry) string {
	if e.GetReference() {
		return "nodes/" + e.GetId() + " (reference)"
	}
	return "nodes/" + e.GetId()
}

// commonPrefix is how many bytes two texts have in common at their beginning, in whole characters.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// lineAt is the line of a text in which a byte stands, as far as a screen has room for it.
func lineAt(text string, at int) string {
	if at == len(text) {
		return "(the end)"
	}
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return client.Cut(client.OneLine(line), 60)
}
