package command

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// complete looks for what git lost on the way: where one side moved a file, into the trash or out of it, and the other one has
// changed it or has another one in its new place, the conflict does not hold all that both sides have. Whatever a side
// made since both went apart is in the result; what one did not touch, the other may have changed or removed.
func (p *plan) complete(ctx context.Context, repo *git.Repo) error {
	both, ok, err := repo.Both(ctx, "nodes", "flows", "trash")
	if err != nil || !ok {
		return err
	}
	known, err := repo.Decided(ctx)
	if err != nil {
		return err
	}
	for _, v := range both.Base {
		known[v.Hash] = true
	}
	files := map[thing][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		files[p.held[name].thing] = append(files[p.held[name].thing], name)
	}
	for _, side := range []struct {
		name  string
		files map[string]git.Version
	}{{"ours", both.Ours}, {"theirs", both.Theirs}} {
		for _, name := range slices.Sorted(maps.Keys(side.files)) {
			v := side.files[name]
			kind, _, slot := slotOf(name)
			if !slot || !v.Regular() || known[v.Hash] || p.left[name] {
				continue
			}
			data, err := repo.Read(ctx, v, format.MaxFile)
			if errors.Is(err, git.ErrTooLarge) {
				continue // Who has it in conflict is told.
			}
			if err != nil {
				return err
			}
			base, err := repo.Read(ctx, both.Base[name], format.MaxFile)
			if err != nil && !errors.Is(err, git.ErrTooLarge) {
				return err
			}
			p.completeWith(kind, side.name, name, sides{base: base, theirs: data}, files)
		}
	}
	return nil
}

// completeWith has what a side made in the result, which is theirs of s. files are those of each thing.
func (p *plan) completeWith(kind format.Kind, side, name string, s sides, files map[thing][]string) {
	data := s.theirs
	h, err := holding(kind, data)
	if err != nil || p.purged[h.thing] || p.merged[h.thing] {
		return
	}
	there := files[h.thing]
	if slices.ContainsFunc(there, func(file string) bool { return p.held[file].sum == h.sum }) {
		return
	}
	if len(there) > 0 && kind == format.Flows {
		if now, err := p.content(there[0]); err == nil {
			p.mergeFlows(there[0], sides{base: s.base, ours: now, theirs: data})
		}
		return
	}
	to, ok := name, true
	switch {
	case len(there) > 0:
		to, ok = p.place(kind, inTrash(there[0]), data, h)
	case p.names[name]:
		to, ok = p.place(kind, inTrash(name), data, h)
	default:
		p.put(name, data, h)
	}
	if !ok {
		p.leaveFull(name)
		return
	}
	files[h.thing] = append(there, to)
	p.tell(name, "git left out %s/%s as %s has it; it is %s", kind, h.id, side, to)
}
