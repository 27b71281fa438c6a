// Package toolbox gives each session what its calls are judged and carried out by: the tools that it has, the folders that it may name, the
// policy that it was given, and who carries out what is no change of a file of ours.
package toolbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Folder is a root of the configuration, with the namespaces that may use it (field/review-agent.md S13); none: all.
type Folder struct {
	folder.Root
	Namespaces []string
}

func (f Folder) open(ns string) bool {
	return len(f.Namespaces) == 0 || slices.Contains(f.Namespaces, ns)
}

// Program is the tool exec in a work folder.
type Program struct {
	Tool   *tool.Tool
	Effect router.Effect
}

// Servers have tools that somebody else carries out: MCP servers.
type Servers interface {
	// Wait waits until a server of a namespace has told its tools, or could not; where server is empty until all have. told is false where such a one
	// has told nothing yet.
	Wait(ctx context.Context, namespace, server string) (told bool)
	// Tools are those that a namespace may use now.
	Tools(namespace string) []*tool.Tool
	// Effect carries one of them out; nil for any other tool.
	Effect(namespace string, d tool.Definition) router.Effect
}

// Session gives what a tool of one session needs to know which that is.
type Session interface {
	// Effect carries out a tool that the session itself has declared; nil for one of another source.
	Effect(ns string, s ledger.Session, d tool.Definition) router.Effect
	// Reads are the built-in tools that look at the session itself, by name.
	Reads(ns string, s ledger.Session) map[string]router.ReadFunc
}

// Box holds what the configuration gives. Its fields do not change. Safe for concurrent use.
type Box struct {
	// Work are the folders that a session may be made with, by name; Read those that every session may read, under their mounts.
	Work map[string]Folder
	Read []Folder
	// Programs are the tool exec by the name of the work folder; empty: it is off.
	Programs map[string]Program
	// Policies are those of the configuration.
	Policies *policy.Set
	// Servers have further tools, and Session those of the session itself.
	Servers Servers
	Session Session

	registries registries
}

// UnknownRootError says that there is no such work folder for the caller.
type UnknownRootError struct {
	Name string
	// Known are the names that there are.
	Known []string
}

func (e *UnknownRootError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no work folder %.80q: none is configured", e.Name)
	}
	return fmt.Sprintf("there is no work folder %.80q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// Root gives a work folder by its name. *UnknownRootError.
func (b *Box) Root(ns, name string) (folder.Root, error) {
	if f, ok := b.Work[name]; ok && f.open(ns) {
		return f.Root, nil
	}
	e := &UnknownRootError{Name: name}
	for _, known := range slices.Sorted(maps.Keys(b.Work)) {
		if b.Work[known].open(ns) {
			e.Known = append(e.Known, known)
		}
	}
	return nil, e
}

// Await implements turn.Tools: servers that were just started are about to tell their tools.
func (b *Box) Await(ctx context.Context, ns, server string) (told bool) {
	return b.Servers.Wait(ctx, ns, server)
}

// Router implements turn.Tools. *UnknownRootError, *policy.Error, or that the tools do not go together; all of them in one where there are several.
func (b *Box) Router(_ context.Context, ns string, s ledger.Session) (router.Router, error) {
	var r router.Router
	var noRoot error
	if s.Root != "" {
		r.Mounts.Work, noRoot = b.Root(ns, s.Root)
	}
	for _, f := range b.Read {
		if f.open(ns) {
			r.Mounts.Others = append(r.Mounts.Others, f.Root)
		}
	}
	r.Reads = b.Session.Reads(ns, s)
	r.Effects = func(d tool.Definition) router.Effect { return b.effect(ns, s, d) }
	var noPolicy, noTools error
	r.Engine, noPolicy = b.Policies.Engine(policy.Choice{Policy: s.Policy, Added: s.Added})
	r.Tools, r.Pins, noTools = b.tools(ns, s, r.Mounts)
	return r, together(noRoot, noPolicy, noTools)
}

// together is the errors that there are, in one sentence.
func together(all ...error) (out error) {
	for _, err := range all {
		switch {
		case err == nil:
		case out == nil:
			out = err
		default:
			out = fmt.Errorf("%w; and %w", out, err)
		}
	}
	return out
}

// tools are those that can do anything in this session: without a folder there are none for files. Of MCP servers they are the very ones that
// the session has met (field/review-agent.md S18), which pins tell.
func (b *Box) tools(ns string, s ledger.Session, m folder.Mounts) (*tool.Registry, tool.Pins, error) {
	var all []*tool.Tool
	for _, t := range builtIn() {
		switch {
		case slices.Contains(changing, t.Name) && (m.Work == nil || m.Work.About().ReadOnly):
		case slices.Contains(looking, t.Name) && m.Work == nil && len(m.Others) == 0:
		default:
			all = append(all, t)
		}
	}
	if p, ok := b.Programs[s.Root]; ok {
		all = append(all, p.Tool)
	}
	others, pins, _ := s.Pins.Keep(b.Servers.Tools(ns))
	tools, err := b.registries.get(append(all, others...), s.Tools)
	return tools, pins, err
}

var (
	changing = []string{tool.Write, tool.Create, tool.Move, tool.Delete}
	looking  = []string{tool.Read, tool.List, tool.Stat, tool.Search}
	// builtIn are the tools of the house; that their definitions are right a test holds. A child of ours that only runs a program needs none.
	builtIn = sync.OnceValue(func() []*tool.Tool { return admitted(tool.BuiltIns()) })
)

func admitted(all []tool.Definition) []*tool.Tool {
	out, err := clienttool.Tools(all)
	if err != nil {
		panic(err) // A definition of ours.
	}
	return out
}

// effect gives who carries out a tool; nil: nobody, and the call is refused.
func (b *Box) effect(ns string, s ledger.Session, d tool.Definition) router.Effect {
	switch d.Origin.Kind {
	case tool.BuiltIn:
		if p, ok := b.Programs[s.Root]; ok && d.Name == tool.Exec {
			return p.Effect
		}
		return nil
	case tool.MCP:
		return b.Servers.Effect(ns, d)
	}
	return b.Session.Effect(ns, s, d)
}
