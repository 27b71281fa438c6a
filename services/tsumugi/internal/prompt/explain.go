package prompt

import (
	"fmt"
	"strings"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// explain is a table of what a prompt is made of, with the boundaries as lines in it, and below what became of everything else.
func explain(r reply, previous *promptbuilderv1.PreviousBuild) string {
	t := table{marks: marks(r.system.GetSections(), previous.GetSections()), marked: previous != nil}
	t.line("", "bytes", "tokens", "class", "sha256", "section")
	cache, session := r.system.GetBoundaries().GetCache(), r.system.GetBoundaries().GetSession()
	for _, s := range r.system.GetSections() {
		if t.after(cache, s) {
			t.boundary("cache", cache)
			cache = nil
		}
		if t.after(session, s) {
			t.boundary("session", session)
			session = nil
		}
		t.section(s)
	}
	t.boundary("cache", cache)
	t.boundary("session", session)
	tokens := r.system.GetTokens()
	t.WriteString(total(r.system.GetBytes(), tokens.GetCount(), tokens.GetCounter(), tokens.GetExact(), r.system.GetSha256()))
	layers(&t.Builder, r.agent)
	files(&t.Builder, r)
	rest(&t.Builder, r.system)
	return t.String()
}

// table is drawn line by line. The names stand last, as they alone have characters of double width.
type table struct {
	strings.Builder
	marks  map[string]string
	marked bool
}

func (t *table) line(mark string, bytes, tokens any, class, sha256, name string) {
	if t.marked {
		fmt.Fprintf(t, "%1s ", mark)
	}
	fmt.Fprintf(t, "%7v %6v  %-8s  %-8.8s  %s\n", bytes, tokens, class, sha256, name)
}

func (t *table) section(s *promptbuilderv1.SystemSection) {
	t.line(t.marks[s.GetId()], s.GetEnd()-s.GetStart(), s.GetTokens(), word(s.GetClass(), "SECTION_CLASS_"), s.GetSha256(), s.GetId())
	for _, p := range s.GetParts() {
		t.line(t.marks[partKey(s, p)], p.GetEnd()-p.GetStart(), "", "", p.GetSha256(), "  "+client.OneLine(p.GetId()))
	}
}

// after says that a section is the first behind a boundary.
func (t *table) after(b *promptbuilderv1.Boundary, s *promptbuilderv1.SystemSection) bool {
	return b != nil && s.GetStart() >= b.GetByte()
}

// boundary draws a boundary; nothing for one that was drawn.
func (t *table) boundary(name string, b *promptbuilderv1.Boundary) {
	if b != nil {
		fmt.Fprintf(t, "--- %s boundary: byte %d, %d tokens, sha256 %.8s ---\n", name, b.GetByte(), b.GetTokens(), b.GetSha256())
	}
}

// total is the line of a whole text.
func total(bytes, tokens int32, counter string, exact bool, sha256 string) string {
	how := "estimated"
	if exact {
		how = "counted"
	}
	return fmt.Sprintf("total: %d bytes, %d tokens (%s by %s), sha256 %.8s\n", bytes, tokens, how, counter, sha256)
}

// layers are those of an agent, with what was left out of them.
func layers(b *strings.Builder, r *promptbuilderv1.BuildAgentResponse) {
	for _, l := range r.GetLayers() {
		if l.GetTokens() == 0 && l.GetBudget() == 0 {
			continue
		}
		of := "no limit"
		if l.GetBudget() > 0 {
			of = fmt.Sprintf("of %d", l.GetBudget())
		}
		fmt.Fprintf(b, "layer %s: %d tokens, %s\n", l.GetLayer(), l.GetTokens(), of)
	}
	for _, c := range r.GetCuts() {
		fmt.Fprintf(b, "cut: %s, for %s: %d to %d tokens\n", c.GetItem(), c.GetBudget(), c.GetTokensBefore(), c.GetTokensAfter())
	}
}

func files(b *strings.Builder, r reply) {
	unit := "characters"
	if r.unit == promptbuilderv1.SizeUnit_SIZE_UNIT_BYTES {
		unit = "bytes"
	}
	for _, f := range r.system.GetFiles() {
		fmt.Fprintf(b, "file %s: %s", client.OneLine(f.GetName()), word(f.GetState(), "FILE_STATE_"))
		switch printed, raw := f.GetPrintedSize(), f.GetRawSize(); {
		case raw == 0:
		case printed == raw:
			fmt.Fprintf(b, ", %d %s", raw, unit)
		default:
			fmt.Fprintf(b, ", %d of %d %s", printed, raw, unit)
		}
		switch {
		case f.GetDuplicateOf() != "":
			fmt.Fprintf(b, ", the same as %s", client.OneLine(f.GetDuplicateOf()))
		case f.GetCause() != "":
			fmt.Fprintf(b, ", for the limit of %s", map[string]string{"file": "one file (maxChars)", "total": "all files (totalMaxChars)"}[f.GetCause()])
		}
		b.WriteByte('\n')
		for _, heading := range f.GetLostHeadings() {
			fmt.Fprintf(b, "  without: %s\n", client.OneLine(heading))
		}
		if more := int(f.GetLostHeadingCount()) - len(f.GetLostHeadings()); more > 0 {
			fmt.Fprintf(b, "  and %d headings more\n", more)
		}
	}
}

// rest tells what is not printed, what a careful reader should know, and what is not as it was read.
func rest(b *strings.Builder, r *promptbuilderv1.BuildSystemResponse) {
	for _, d := range r.GetDiagnostics() {
		fmt.Fprintf(b, "! %s: %s%s\n", d.GetCode(), where(d), client.OneLine(d.GetMessage()))
	}
	for _, stale := range r.GetStaleSnapshot() {
		fmt.Fprintf(b, "! the snapshot of %s is older than its source\n", client.OneLine(stale))
	}
	if r.GetForgeable() {
		b.WriteString("! a text without a frame can forge a section\n")
	}
	byReason, reasons := map[string][]string{}, []string(nil)
	for _, l := range r.GetLeftOut() {
		reason := word(l.GetReason(), "LEFT_OUT_REASON_")
		if byReason[reason] == nil {
			reasons = append(reasons, reason)
		}
		byReason[reason] = append(byReason[reason], l.GetId())
	}
	for _, reason := range reasons {
		fmt.Fprintf(b, "not printed (%s): %s\n", reason, strings.Join(byReason[reason], ", "))
	}
}

// notice is what a person should know who sees the text alone; empty where that is nothing. What is missing or empty stands in the text.
func notice(r reply) string {
	var all []string
	for _, f := range r.system.GetFiles() {
		switch f.GetState() {
		case promptbuilderv1.FileState_FILE_STATE_TRUNCATED, promptbuilderv1.FileState_FILE_STATE_DROPPED, promptbuilderv1.FileState_FILE_STATE_BLOCKED_SYMLINK,
			promptbuilderv1.FileState_FILE_STATE_UNREADABLE, promptbuilderv1.FileState_FILE_STATE_TOO_LARGE:
			all = append(all, client.OneLine(f.GetName())+" is "+word(f.GetState(), "FILE_STATE_"))
		}
	}
	if n := len(r.agent.GetCuts()); n > 0 {
		all = append(all, fmt.Sprintf("items cut for a budget: %d", n))
	}
	if n := len(r.system.GetDiagnostics()) + len(r.system.GetStaleSnapshot()); n > 0 {
		all = append(all, fmt.Sprintf("remarks: %d", n))
	}
	return strings.Join(all, "; ")
}

// where names what a message is about, if that is a part of a section or a place in the text.
func where(d *promptbuilderv1.Diagnostic) string {
	switch {
	case d.GetByte() > 0:
		return strings.TrimSuffix(d.GetSection()+", "+client.OneLine(d.GetPart()), ", ") + fmt.Sprintf(", byte %d: ", d.GetByte())
	case d.GetPart() != "":
		return client.OneLine(d.GetPart()) + ": "
	}
	return ""
}

// word is an enum value as people write it.
func word(v fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(v.String(), prefix))
}
