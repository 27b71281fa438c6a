// Package keeper is what programs that the agent starts have in common: those of the tool exec (execchild) and servers of MCP (mcpserver).
//
// A program runs in three steps of one executable file. The agent starts itself again as a keeper, which no sandbox holds: it inherits
// whatever the program leaves behind, also what has made itself a session of its own, and ends it when the program ends, when the agent
// says so, and when the agent is no more, since then the pipe between them closes. The keeper starts itself again as a leader, which puts
// on what is to hold the program, for good, and becomes it. So Child must be called first in main. A keeper that is itself killed takes
// the leader with it, and nobody else.
//
// What they say to each other are values of package gob: paths and variables are bytes, which JSON would alter where they are no UTF-8.
package keeper

import (
	"errors"
	"os"
	"sync/atomic"
)

// Roles are what a process does that was started as a keeper or a leader, by the name that it has as its first argument. They give the exit code.
type Roles map[string]func() int

// hooked says that main has called Child: without it this process would start itself again as a whole.
var hooked atomic.Bool

// ErrNotHooked is a fault of the program.
var ErrNotHooked = errors.New("this program does not begin with app.Child of the agent, so that it cannot start itself as the keeper of another")

// Child does the work of a child, where this process was started as one: then main ends with code at once. It must be called before
// anything else.
func Child(all ...Roles) (code int, is bool) {
	hooked.Store(true)
	for _, roles := range all {
		if role := roles[os.Args[0]]; role != nil {
			return role(), true
		}
	}
	return 0, false
}
