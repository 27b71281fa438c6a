package app

import (
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/execchild"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/mcpserver"
)

// Child does the work of a process that was started to hold a program of the tool exec or a server of MCP, where this one is such a process:
// then main ends with code at once. A program that holds the agent calls it before anything else; without it no program is started.
func Child() (code int, is bool) { return keeper.Child(execchild.Roles(), mcpserver.Roles()) }
