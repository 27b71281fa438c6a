package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// shape is a flow as operations on all of it see it.
type shape struct {
	name, description, current string
	// parents of each member, with the names of the edges.
	parents map[string]map[string]string
	heads   map[string]string
	// links are the parts behind prefixLink.
	links []string
}

// shape reads the flow out of the ledger.
func (d drawing) shape() shape {
	parts := d.is[d.flow]
	s := shape{
		name: d.flow, description: parts[partDescription], current: parts[partCurrent],
		parents: map[string]map[string]string{}, heads: map[string]string{},
	}
	for _, m := range d.members[d.flow] {
		s.parents[m] = d.parents(d.flow, m)
	}
	for part, value := range parts {
		if name, ok := strings.CutPrefix(part, prefixHead); ok {
			s.heads[name] = value
		} else if link, ok := strings.CutPrefix(part, prefixLink); ok {
			s.links = append(s.links, link)
		}
	}
	return s
}

// parts are those of the ledger.
func (s shape) parts() map[string]string {
	parts := map[string]string{partIs: isThere, partDescription: s.description, partCurrent: s.current}
	for m, parents := range s.parents {
		parts[prefixMember+m] = continues(parents)
	}
	for name, at := range s.heads {
		parts[prefixHead+name] = at
	}
	for _, link := range s.links {
		parts[prefixLink+link] = isThere
	}
	return parts
}

// becoming is an operation on all of the flow, which nobody else changes meanwhile.
func (d drawing) becoming(after shape, ask request) *operation {
	o := &operation{writes: map[key]string{}, owns: []key{{d.flow, partIs}}, ask: ask}
	parts := after.parts()
	for part := range bothKeys(d.is[d.flow], parts) {
		if parts[part] != d.is[d.flow][part] {
			o.writes[key{d.flow, part}] = parts[part]
		}
	}
	return o
}

// children gives what continues a member.
func (s shape) children(of string) (names []string) {
	for m, parents := range s.parents {
		if _, ok := parents[of]; ok {
			names = append(names, m)
		}
	}
	return names
}

// removeNode removes a node that continues one node at most, so that it is known where place and heads go.
func removeNode(d drawing) *operation {
	s := d.shape()
	name := d.oneOf(d.members[d.flow])
	req := &flowstorev1.RemoveNodeRequest{Flow: d.flow, Node: name, RequestId: requestID()}
	if len(s.children(name)) > 0 {
		req.Mode = d.childrenMode()
	}
	if name == "" || s.remove(name, req.GetMode()) == nil {
		return nil
	}
	return d.becoming(s, asks(req, func(c client, ctx context.Context, r *flowstorev1.RemoveNodeRequest) (*flowstorev1.Flow, error) {
		return c.RemoveNode(ctx, r)
	}))
}

// childrenMode draws what becomes of those that continue a node.
func (d drawing) childrenMode() flowstorev1.RemoveMode {
	if d.random.IntN(2) == 0 {
		return flowstorev1.RemoveMode_REMOVE_MODE_SPLICE
	}
	return flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE
}

// remove takes a member away, and gives all that go with it; nil where the ledger does not know where place and heads go.
func (s *shape) remove(name string, mode flowstorev1.RemoveMode) (gone map[string]bool) {
	if len(s.parents[name]) > 1 {
		return nil
	}
	gone, back := map[string]bool{name: true}, ""
	for p := range s.parents[name] {
		back = p
	}
	if mode == flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE {
		gone = s.onlyBehind(name)
	} else {
		s.splice(name, back)
	}
	if gone[s.current] && back == "" {
		return nil // the newest leaf, by numbers that the ledger does not have
	}
	s.take(gone, back)
	return gone
}

// splice has those that continue a member continue what it does, if anything.
func (s *shape) splice(name, back string) {
	for _, child := range s.children(name) {
		if _, there := s.parents[child][back]; back != "" && !there {
			s.parents[child][back] = cmp.Or(s.parents[child][name], s.parents[name][back])
		}
		delete(s.parents[child], name)
	}
}

// take takes members away. The place and heads at them go to back.
func (s *shape) take(gone map[string]bool, back string) {
	for m, parents := range s.parents {
		maps.DeleteFunc(parents, func(p, _ string) bool { return gone[p] })
		if gone[m] {
			delete(s.parents, m)
		}
	}
	for name, at := range s.heads {
		if gone[at] {
			s.heads[name] = back
		}
	}
	if gone[s.current] {
		s.current = back
	}
	s.links = slices.DeleteFunc(s.links, func(link string) bool { return gone[strings.Fields(" " + link)[0]] })
}

// onlyBehind marks a member and all that can be reached through it alone.
func (s shape) onlyBehind(name string) map[string]bool {
	gone := map[string]bool{name: true}
	for grown := true; grown; {
		grown = false
		for m, parents := range s.parents {
			if gone[m] || len(parents) == 0 {
				continue
			}
			if all := !slices.ContainsFunc(slices.Collect(maps.Keys(parents)), func(p string) bool { return !gone[p] }); all {
				gone[m], grown = true, true
			}
		}
	}
	return gone
}

// rebuildFlow makes a line of some members, in the order of their birth, and sometimes of a node that was not one.
func rebuildFlow(d drawing) *operation {
	if d.flow == "" {
		return nil
	}
	line := d.some(2+d.random.IntN(4), "")
	if other := d.oneOf(d.nodes); d.random.IntN(3) == 0 && d.is[d.flow][prefixMember+other] == "" && other != "" {
		line = append(line, other)
	}
	if len(line) == 0 {
		return nil
	}
	slices.SortFunc(line, func(a, b string) int { return d.born[a] - d.born[b] })
	s := d.shape()
	for i, m := range line {
		named := s.parents[m]
		s.parents[m] = maps.Clone(named)
		if s.parents[m] == nil {
			s.parents[m] = map[string]string{}
		}
		maps.DeleteFunc(s.parents[m], func(p, _ string) bool { return slices.Contains(line, p) })
		if i > 0 {
			s.parents[m][line[i-1]] = named[line[i-1]]
		}
	}
	req := &flowstorev1.RebuildFlowRequest{Flow: d.flow, Nodes: line, RequestId: requestID()}
	o := d.becoming(s, func(ctx context.Context, c client) (string, error) {
		if req.GetEtag() == "" {
			f, err := c.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: req.GetFlow()})
			if err != nil {
				return "", err
			}
			req.Etag = f.GetEtag()
		}
		_, err := c.RebuildFlow(ctx, req)
		return "", err
	})
	for _, m := range line {
		o.shares = append(o.shares, key{m, partText})
	}
	return o
}

// forkFlow forks a flow in one of the four ways.
func forkFlow(d drawing) *operation {
	at := d.oneOf(d.members[d.flow])
	if at == "" || len(d.flows) >= d.maxFlows {
		return nil
	}
	s := d.shape()
	way := flowstorev1.ForkWay(1 + d.random.IntN(4))
	taken := s.forked(way, at)
	req := &flowstorev1.ForkFlowRequest{Flow: d.flow, Way: way, Node: at, RequestId: requestID()}
	switch way {
	case flowstorev1.ForkWay_FORK_WAY_WHOLE:
		req.Node = ""
	case flowstorev1.ForkWay_FORK_WAY_PATH, flowstorev1.ForkWay_FORK_WAY_SIBLINGS:
		s.current = at
	default:
		if s.current != "" && !taken[s.current] {
			return nil // the newest leaf, by numbers that the ledger does not have
		}
	}
	others := map[string]bool{}
	for m := range s.parents {
		others[m] = !taken[m]
	}
	s.take(others, "")
	s.links = append(s.links, req.GetNode()+" "+d.flow)
	o := &operation{writes: map[key]string{}, owns: []key{{d.flow, partIs}}}
	s.name = d.newFlow(o, &req.FlowId)
	for part, value := range s.parts() {
		o.writes[key{s.name, part}] = value
	}
	o.ask = asks(req, func(c client, ctx context.Context, r *flowstorev1.ForkFlowRequest) (*flowstorev1.Flow, error) {
		return c.ForkFlow(ctx, r)
	})
	for m := range taken {
		o.shares = append(o.shares, key{m, partText})
	}
	return o
}

// forked marks what a fork takes along.
func (s shape) forked(way flowstorev1.ForkWay, at string) map[string]bool {
	taken := map[string]bool{}
	var walk func(name string, next func(string) []string)
	walk = func(name string, next func(string) []string) {
		if !taken[name] {
			taken[name] = true
			for _, n := range next(name) {
				walk(n, next)
			}
		}
	}
	before := func(m string) []string { return slices.Collect(maps.Keys(s.parents[m])) }
	switch way {
	case flowstorev1.ForkWay_FORK_WAY_WHOLE:
		for m := range s.parents {
			taken[m] = true
		}
	case flowstorev1.ForkWay_FORK_WAY_SUBTREE:
		walk(at, s.children)
	default:
		walk(at, before)
	}
	if way == flowstorev1.ForkWay_FORK_WAY_SIBLINGS {
		path := maps.Clone(taken)
		for m, parents := range s.parents {
			onward := slices.ContainsFunc(slices.Collect(maps.Keys(parents)), func(p string) bool { return path[p] && p != at })
			taken[m] = taken[m] || onward || len(parents) == 0
		}
		maps.DeleteFunc(taken, func(_ string, in bool) bool { return !in })
	}
	return taken
}
