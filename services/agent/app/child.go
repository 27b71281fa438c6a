package app

import "github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/execchild"

// Child does the work of a process that the tool exec has started to hold a program, where this one is such a process: then main ends
// with code at once. A program that holds the agent calls it before anything else; without it exec refuses to run.
func Child() (code int, is bool) { return execchild.Child() }
