package session

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// The kinds of references (seed 001, 5.4).
const (
	RefFile         = "file:"
	RefConversation = "conversation:"
	RefPlan         = "plan:"
)

// CheckRefs tells of references that can mean nothing in a session of so many turns. What they name need not be there: files come and go.
// Those that the session has were taken, maybe by an earlier version or from the agent: whatever their form, they are taken again.
func CheckRefs(refs []string, turns int, has ...string) []Violation {
	c := &checker{}
	c.entries("context_refs", len(refs), MaxRefs)
	for i, ref := range refs {
		field := fmt.Sprintf("context_refs[%d]", i)
		if first := slices.Index(refs, ref); first < i {
			c.add(field, "stands twice: first at [%d]", first)
		} else if !slices.Contains(has, ref) {
			c.ref(field, ref, turns)
		}
	}
	return c.wrong
}

func (c *checker) ref(field, ref string, turns int) {
	c.entry(field, ref, MaxRef)
	if why := noRef(ref); why != "" {
		c.add(field, "%s, and is %.80q", why, ref)
	} else if n, ok := turnOf(ref); ok && n > turns {
		c.add(field, "names turn %d, and the session has %d: a turn of another session is conversation:sessions/UUID/NUMBER", n, turns)
	}
}

// noRef says what a reference must be that is none.
func noRef(ref string) string {
	kind, name, _ := strings.Cut(ref, ":")
	switch kind + ":" {
	case RefFile:
		// Which folders have a mount is the configuration's, and may change while the session is there.
		if inside := strings.TrimPrefix(name, "/"); !fs.ValidPath(inside) || inside == "." {
			return "must be file: and a path inside the work folder, such as file:notes/plan.md, or /MOUNT/ and a path inside a read root, " +
				"without ., .., // and a / at the end"
		}
	case RefPlan:
		if !isID(name) {
			return "must be plan: and the id of an approved plan, a UUID"
		}
	case RefConversation:
		if _, ok := turnOf(ref); !ok && !isConversation(name) {
			return "must be conversation: and the number of a turn from 1, sessions/UUID/NUMBER, nodes/UUID or flows/UUID"
		}
	default:
		return "must be file:PATH, conversation:NUMBER or plan:UUID"
	}
	return ""
}

// turnOf is the number of a turn of the same session that a reference names.
func turnOf(ref string) (n int, ok bool) {
	number, ok := strings.CutPrefix(ref, RefConversation)
	if !ok {
		return 0, false
	}
	return count(number)
}

// count is a number from 1, as it is written: without a sign and zeros before it.
func count(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && strconv.Itoa(n) == text
}

// isConversation says that a name is that of a node, of a flow, or of a turn of another session.
func isConversation(name string) bool {
	collection, id, _ := strings.Cut(name, "/")
	if collection == "sessions" {
		var number string
		id, number, _ = strings.Cut(id, "/")
		if _, ok := count(number); !ok {
			return false
		}
		return isID(id)
	}
	return (collection == "nodes" || collection == "flows") && isID(id)
}

// isID says that a text is a UUID as it is written in names: with its hyphens, and nothing around it.
func isID(text string) bool {
	return len(text) == len(uuid.UUID{}.String()) && uuid.Validate(text) == nil
}

// All are the references of a session: those that a person gave or it began with, and behind them those that the agent added.
func (t Thread) All() []string { return slices.Concat(t.Refs, t.Found) }

// Refer adds a reference to what a call has read or written, a turn that was looked up, or an approved plan. The latest stand last. As many stay as
// MaxRefs leaves beside those of a person, of which none goes; one that is no reference, such as a path over MaxRef, is not added.
func (t Thread) Refer(ref string) Thread {
	c := &checker{}
	if c.line("", ref, MaxRef); c.wrong != nil || slices.Contains(t.Refs, ref) {
		return t
	}
	t = t.Forget(ref)
	t.Found = append(t.Found, ref)
	t.Found = t.Found[max(0, len(t.Found)-max(0, MaxRefs-len(t.Refs))):]
	return t
}

// Forget takes away a reference that the agent added, such as one to a file that is gone.
func (t Thread) Forget(ref string) Thread {
	t.Found = slices.DeleteFunc(slices.Clone(t.Found), func(r string) bool { return r == ref })
	return t
}

// Told are the references that prompts tell of: those that a person gave or the session began with, and the plan that was approved last. What else
// the agent added the model has as results of its calls.
func (t Thread) Told() []string {
	for _, ref := range slices.Backward(t.Found) {
		if strings.HasPrefix(ref, RefPlan) {
			return slices.Concat(t.Refs, []string{ref})
		}
	}
	return t.Refs
}

// Left are the references for a session that continues this one: the number of a turn, which counts within a session, is told with the session.
func (t Thread) Left(session string) []string {
	all := t.All()
	for i, ref := range all {
		if n, ok := turnOf(ref); ok {
			all[i] = fmt.Sprintf("%ssessions/%s/%d", RefConversation, session, n)
		}
	}
	return all
}
