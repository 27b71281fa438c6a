package policy

import (
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Call is what is judged: a call that was checked, and what is known of it.
type Call struct {
	Tool tool.Definition
	// Definition is the hash of the tool, Hash that of the call.
	Definition, Hash canon.Hash
	// Namespace and Session are where it was proposed, Root the id of the work folder.
	Namespace, Session, Root string
	// Paths are all that it touches, Writes those among them that get content: what write and create name, and the destination of
	// a move. They are cleaned, relative to the root, with / between their parts.
	Paths, Writes []string
	// Roles are those of the caller.
	Roles []string
	// InExecution says that the session is in the step EXECUTION, the only one in which an effect may start (C40).
	InExecution bool
	// LikeUnknown says that an equal call of this session has an outcome that nobody knows (C49).
	LikeUnknown bool
	Facts       Facts
}

func (c Call) paths() []string { return append(slices.Clone(c.Paths), c.Writes...) }

func (c Call) has(role string) bool { return slices.Contains(c.Roles, role) }

// Effectful says that a call may change something: all do but those of built-in tools that only look. A server's word for it is
// not believed (S18).
func (c Call) Effectful() bool {
	return c.Tool.Origin.Kind != tool.BuiltIn || c.Tool.Annotations.ReadOnly != tool.Yes
}

// builtIn says that the call is one of a built-in tool among these.
func (c Call) builtIn(names ...string) bool {
	return c.Tool.Origin.Kind == tool.BuiltIn && slices.Contains(names, c.Tool.Name)
}

// openWorld says that the tool may reach beyond the work folder: it says so, or is of somebody else, whose word that it does not is not
// believed (S18).
func (c Call) openWorld() bool {
	return c.Tool.Annotations.OpenWorld == tool.Yes || c.Tool.Origin.Kind != tool.BuiltIn
}
