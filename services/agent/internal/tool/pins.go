package tool

import "github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"

// Pins are the definitions of the tools of MCP servers that a session began with (field/review-agent.md S18): by the name of the server and
// that of the tool. They are stable JSON; the zero value is none.
type Pins map[string]map[string]canon.Hash

// Keep gives those of the tools that a session may use: of a server that it has met before the very ones that it met, of another all, which
// are pinned from then on. What a server has changed, renamed or added since is in refused, until a session begins anew. Tools that are of
// no server are kept. The pins themselves do not change: next are those to remember.
func (p Pins) Keep(tools []*Tool) (kept []*Tool, next Pins, refused []*Tool) {
	next = make(Pins, len(p))
	for server, pinned := range p {
		next[server] = pinned
	}
	for _, t := range tools {
		server := t.Origin.Server
		switch {
		case t.Origin.Kind != MCP:
			kept = append(kept, t)
			continue
		case p[server] == nil && next[server] == nil:
			next[server] = map[string]canon.Hash{}
		}
		if p[server] == nil {
			next[server][t.Name] = t.Hash
		}
		if next[server][t.Name] == t.Hash {
			kept = append(kept, t)
		} else {
			refused = append(refused, t)
		}
	}
	return kept, next, refused
}
