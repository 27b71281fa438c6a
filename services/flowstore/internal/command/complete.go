package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/git"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// complete looks for what git lost on the way: where one side moved a file, into the trash or out of it, and the other one has
// changed it or has another one in its new place, the conflict does not hold all that both sides have. Whatever a side
// made since both went apart is in the result; what one did not touch, the other may have changed or removed.
// What is in a conflict that is left to a person is not lost, wherever git has put it.
func (p *plan) complete(ctx context.Context, repo *git.Repo, conflicts []git.Conflict) error {
	if p.change.Operation == git.None {
		return nil
	}
	both, err := repo.Both(ctx, p.change, "nodes", "flows", "trash")
	if err != nil {
		return err
	}
	c := completion{plan: p, repo: repo, bases: both.Bases, made: map[string]bool{}, files: map[thing][]string{}}
	known := maps.Clone(p.taken.Decided)
	for _, hash := range p.taken.Staged {
		known[hash] = true
	}
	moved := inOtherPlaces(both)
	for _, base := range both.Bases {
		for _, v := range base {
			known[v.Hash] = known[v.Hash] || !moved[v.Hash]
		}
	}
	for _, left := range conflicts {
		if p.left[left.Path] {
			known[left.Ours.Hash], known[left.Theirs.Hash] = true, true
		}
	}
	for _, files := range append(slices.Clone(both.Bases), both.Ours, both.Theirs) {
		for _, v := range files {
			c.made[v.Hash] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		c.files[p.held[name].thing] = append(c.files[p.held[name].thing], name)
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
			if h, err := holding(kind, data); err == nil {
				if err := c.with(ctx, side.name, name, data, h); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// inOtherPlaces gives the contents, by their names in git, that both sides have and that have not the same name on both: where
// folders were moved, too, git may leave out what neither side changed.
func inOtherPlaces(both git.Both) map[string]bool {
	theirs, moved := map[string]bool{}, map[string]bool{}
	for _, v := range both.Theirs {
		theirs[v.Hash] = true
	}
	for name, v := range both.Ours {
		if theirs[v.Hash] && both.Theirs[name].Hash != v.Hash {
			moved[v.Hash] = true
		}
	}
	return moved
}

// completion is what complete goes by.
type completion struct {
	*plan
	repo  *git.Repo
	bases []map[string]git.Version
	// made are the contents that the sides and what they come from have, by their names in git.
	made map[string]bool
	// files are those of each thing.
	files map[thing][]string
	// baseFlows are the flows of bases; nil before they are needed.
	baseFlows map[uuid.UUID]git.Version
}

// with has what a side made in the result.
func (c *completion) with(ctx context.Context, side, name string, data []byte, h heldFile) error {
	if c.erased(h.thing) || c.merged[h.thing] {
		return nil
	}
	there := c.files[h.thing]
	if slices.ContainsFunc(there, func(file string) bool { return c.held[file].sum == h.sum }) {
		return nil
	}
	if len(there) > 0 && h.kind == format.Flows {
		return c.withFlow(ctx, there[0], h.id, data)
	}
	if slices.ContainsFunc(there, c.together) {
		return nil
	}
	stand := c.stand
	if len(there) > 0 {
		stand = func(_ string, data []byte, h heldFile) (string, bool) {
			return c.place(h.kind, inTrash(there[0]), data, h)
		}
	}
	to, ok := stand(name, data, h)
	if !ok {
		c.leaveFull(name)
		return nil
	}
	c.files[h.thing] = append(there, to)
	c.tell(name, "git left out %s/%s as %s has it; it is %s", h.kind, h.id, side, to)
	return nil
}

// together says that git, which was told to merge text, or a person put both sides of a file together: it is as no side has it.
func (c *completion) together(file string) bool {
	hash, staged := c.taken.Staged[file]
	return staged && !c.made[hash]
}

// withFlow has what a side made of a flow in the file that there is of it. What both come from may have had another name.
func (c *completion) withFlow(ctx context.Context, file string, id uuid.UUID, data []byte) error {
	now, err := c.content(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := c.readBaseFlows(ctx); err != nil {
		return err
	}
	base, err := c.repo.Read(ctx, c.baseFlows[id], format.MaxFile)
	if err != nil {
		return err
	}
	c.mergeFlows(file, sides{base: base, ours: now, theirs: data})
	return nil
}

// readBaseFlows finds the flows that both sides come from, once.
func (c *completion) readBaseFlows(ctx context.Context) error {
	if c.baseFlows != nil {
		return nil
	}
	c.baseFlows = map[uuid.UUID]git.Version{}
	for _, base := range c.bases {
		for _, name := range slices.Sorted(maps.Keys(base)) {
			v := base[name]
			if kind, _, slot := slotOf(name); !slot || kind != format.Flows || !v.Regular() {
				continue
			}
			data, err := c.repo.Read(ctx, v, format.MaxFile)
			if errors.Is(err, git.ErrTooLarge) {
				continue
			}
			if err != nil {
				return err
			}
			if h, err := holding(format.Flows, data); err == nil {
				c.baseFlows[h.id] = v
			}
		}
	}
	return nil
}
