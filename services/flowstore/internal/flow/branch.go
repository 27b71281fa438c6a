package flow

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/check"
)

// HeadError says that a flow has no such head, or that it stands at no node.
type HeadError struct {
	Flow uuid.UUID
	Name string
	// Index is where a head of a hand-made file stands, though no node has it; 0: there is no such head.
	Index int
}

func (e *HeadError) Error() string {
	if e.Index != 0 {
		return fmt.Sprintf("the head %q of %s stands at index %d, which no node has; move it to a node first", e.Name, Name(e.Flow), e.Index)
	}
	return fmt.Sprintf("%s has no head %q; BranchFlow makes one", Name(e.Flow), e.Name)
}

// HeadTakenError says that a flow has a head of this name.
type HeadTakenError struct {
	Flow uuid.UUID
	Name string
}

func (e *HeadTakenError) Error() string {
	return fmt.Sprintf("%s has a head %q already; take another name, or move that one with UpdateFlow", Name(e.Flow), e.Name)
}

// Head gives the member at which a head stands. *HeadError.
func (f Flow) Head(name string) (Member, error) {
	at, found := slices.BinarySearchFunc(f.Heads, Head{Name: name}, compareHeads)
	if !found {
		return Member{}, &HeadError{Flow: f.ID, Name: name}
	}
	place, held := position(f.Members, f.Heads[at].Index)
	if !held {
		return Member{}, &HeadError{Flow: f.ID, Name: name, Index: f.Heads[at].Index}
	}
	return f.Members[place], nil
}

// Branching gives the change, without its time, that names a new branch: it ends, so far, at the member with this index.
// The same name at the same place again changes nothing. *HeadTakenError; *UnknownIndexError.
func (f Flow) Branching(name string, index int) (Change, error) {
	if _, held := position(f.Members, index); !held {
		return Change{}, &UnknownIndexError{Flow: f.ID, Index: index}
	}
	at, found := slices.BinarySearchFunc(f.Heads, Head{Name: name}, compareHeads)
	switch {
	case !found:
		return Change{Heads: []Head{{Name: name, Index: index}}}, nil
	case f.Heads[at].Index == index:
		return Change{}, nil
	}
	return Change{}, &HeadTakenError{Flow: f.ID, Name: name}
}

// CheckHeadName finds what is wrong with the name that somebody wants to give a head: it has 1 to MaxName characters.
func CheckHeadName(field, name string) []check.Violation {
	if name == "" {
		return []check.Violation{{Field: field, Message: "is empty"}}
	}
	return CheckEdgeName(field, name)
}

func compareHeads(a, b Head) int { return cmp.Compare(a.Name, b.Name) }

func compareLinks(a, b Link) int {
	return cmp.Or(cmp.Compare(a.From, b.From), bytes.Compare(a.Flow[:], b.Flow[:]))
}

// withHeads gives heads with the places of set, sorted.
func withHeads(heads, set []Head) []Head {
	if len(set) == 0 {
		return heads
	}
	all := slices.Clone(heads)
	for _, h := range set {
		at, held := slices.BinarySearchFunc(all, h, compareHeads)
		switch {
		case held && h.Index == 0:
			all = slices.Delete(all, at, at+1)
		case held:
			all[at] = h
		case h.Index != 0:
			all = slices.Insert(all, at, h)
		}
	}
	return all
}

// withLinks gives links and those of add, sorted.
func withLinks(links, add []Link) []Link {
	if len(add) == 0 {
		return links
	}
	all := slices.Concat(links, add)
	slices.SortFunc(all, compareLinks)
	return slices.Compact(all)
}

// headsTo gives what makes of some heads others.
func headsTo(from, to []Head) (set []Head) {
	for _, h := range from {
		if _, stays := slices.BinarySearchFunc(to, h, compareHeads); !stays {
			set = append(set, Head{Name: h.Name})
		}
	}
	for _, h := range to {
		if at, held := slices.BinarySearchFunc(from, h, compareHeads); !held || from[at] != h {
			set = append(set, h)
		}
	}
	return set
}

// missingIn gives the links of some that are not in others; both are sorted.
func missingIn(others, links []Link) (missing []Link) {
	for _, l := range links {
		if _, held := slices.BinarySearchFunc(others, l, compareLinks); !held {
			missing = append(missing, l)
		}
	}
	return missing
}

// Sorted gives the flow with its heads and links in their order, links each once.
func (f Flow) Sorted() Flow {
	f.Heads, f.Links = slices.Clone(f.Heads), slices.Clone(f.Links)
	slices.SortFunc(f.Heads, compareHeads)
	slices.SortFunc(f.Links, compareLinks)
	f.Links = slices.Compact(f.Links)
	return f
}

// examineBranches puts heads and links in order and tells which stand at nothing.
func (f *Flow) examineBranches() {
	*f = f.Sorted()
	for _, p := range sorted(f.danglingBranches()) {
		f.problem("%s", p)
	}
}

// danglingBranches gives what is wrong with heads and links, by its text.
func (f Flow) danglingBranches() map[string]Problem {
	found := map[string]Problem{}
	for _, h := range f.Heads {
		if _, held := position(f.Members, h.Index); !held {
			text := fmt.Sprintf("%s: no node has index %d", HeadPlace(h.Name), h.Index)
			found[text] = Problem{Kind: DanglingHead, Text: text, Head: h}
		}
	}
	for _, l := range f.Links {
		if _, held := position(f.Members, l.From); !held && l.From != 0 {
			text := fmt.Sprintf("%s%d -> %s: no node has index %d", linksPlace, l.From, Name(l.Flow), l.From)
			found[text] = Problem{Kind: DanglingLink, Text: text, Link: l}
		}
	}
	return found
}

func sorted(problems map[string]Problem) []string {
	texts := make([]string, 0, len(problems))
	for text := range problems {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// settleBranches forgets the problems of heads and links that are no more as they were, and of heads that got another place.
func (f *Flow) settleBranches(before Flow, c Change) {
	if len(before.Problems) == 0 {
		return
	}
	was, is := before.danglingBranches(), f.danglingBranches()
	f.Problems = slices.DeleteFunc(slices.Clone(f.Problems), func(p string) bool {
		_, told := was[p]
		_, still := is[p]
		return told && !still || slices.ContainsFunc(c.Heads, func(h Head) bool {
			return !still && strings.HasPrefix(p, HeadPlace(h.Name)+": ")
		})
	})
}

// HeadPlace is where a head stands in a file; a colon follows it in Problems.
func HeadPlace(name string) string { return fmt.Sprintf("%s%q", headsPlace, name) }
