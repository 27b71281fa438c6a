package files

import (
	"cmp"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// events are what the changes mean to others.
func (h *handling) events() {
	stood := map[string]bool{}
	for _, of := range h.order {
		before, after := h.before[of], h.stands(*h.things[of], false)
		stood[before.path], stood[after.path] = true, true
		switch kind := meaning(of.Kind, before, after); kind {
		case "":
		case store.ExternalChange:
			h.tell(store.Event{Kind: kind, Path: cmp.Or(after.path, before.path)})
		default:
			h.tell(store.Event{Kind: kind, Of: of})
		}
	}
	told := map[string]bool{}
	for _, s := range h.sightings {
		if changed := s.gone || !s.known || s.row.hash != s.file.Hash; changed && !stood[s.path] {
			told[s.path] = true
			h.tell(store.Event{Kind: store.ExternalChange, Path: s.path})
		}
	}
	for _, p := range h.overtaken() {
		if !told[p.Path] {
			h.tell(store.Event{Kind: store.ExternalChange, Path: p.Path})
		}
	}
}

// overtaken are the files that come to stand behind another one with their id.
func (h *handling) overtaken() (list []store.Problem) {
	for _, of := range h.order {
		others := h.was[of.Kind].others[of.ID]
		for i, one := range h.things[of].holdings {
			if i > 0 && !slices.ContainsFunc(others, func(other holding) bool { return other.path == one.path }) {
				list = append(list, one.behind(of.ID, h.things[of].holdings[0]))
			}
		}
	}
	return list
}

func (h *handling) tell(e store.Event) {
	e.Seq, e.At, e.Origin = h.lastEvent+int64(len(h.changed.Events))+1, h.last, store.External
	h.changed.Events = append(h.changed.Events, e)
}

// meaning says what it means to others that a thing stands otherwise; nothing where only the name of its file changed.
func meaning(kind store.Kind, before, after standing) store.EventKind {
	created, updated, deleted := store.FlowCreated, store.FlowUpdated, store.FlowDeleted
	if kind == store.KindNode {
		created, updated, deleted = store.NodeCreated, store.NodeUpdated, store.NodeDeleted
	}
	wasThere := before.where == inFile || before.where == unreadable
	switch {
	case before.where == after.where && before.hash == after.hash:
		return ""
	case after.where == inFile && wasThere:
		return updated
	case after.where == inFile:
		return created
	case after.where != unreadable && wasThere:
		return deleted
	}
	return store.ExternalChange
}
