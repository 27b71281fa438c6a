package session

import (
	"slices"
	"strconv"
	"strings"
)

// The kinds of references (seed 001, 5.4).
const (
	RefFile         = "file:"
	RefConversation = "conversation:"
	RefPlan         = "plan:"
)

// All are the references of a session: those that a person gave or it began with, and behind them those that the agent added.
func (t Thread) All() []string { return slices.Concat(t.Refs, t.Found) }

// Refer adds a reference to what a call has read or written, a turn that was looked up, or an approved plan. The latest stand last. As many stay as
// MaxRefs leaves beside those of a person, of which none goes; one that is no reference, such as a path over MaxRef, is not added.
func (t Thread) Refer(ref string) Thread {
	if len(CheckRefs([]string{ref})) > 0 || slices.Contains(t.Refs, ref) {
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
		if number, ok := strings.CutPrefix(ref, RefConversation); ok {
			if _, err := strconv.ParseUint(number, 10, 32); err == nil {
				all[i] = RefConversation + "sessions/" + session + "/" + number
			}
		}
	}
	return all
}
