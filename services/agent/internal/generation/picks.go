package generation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What flowstore keeps of picks: how many, and in bytes each of them and all.
const (
	maxPicks    = 1000
	maxPick     = 8 << 10
	maxAllPicks = 256 << 10
)

// noRoom stands behind the options of a pick whose text is not kept.
const noRoom = "…"

// picked writes the drawn options as the node keeps them, each with its text where there is room.
func picked(picks []Pick) []string {
	list, room := make([]string, len(picks)), maxAllPicks
	for i, p := range picks {
		list[i] = label(p)
		room -= len(list[i]) + len(noRoom)
	}
	for i, p := range picks {
		switch size := len(" ") + len(p.Text); {
		case p.Text == "":
		case size > room || len(list[i])+size > maxPick:
			list[i] += noRoom
		default:
			list[i] += " " + p.Text
			room -= size
		}
	}
	return list
}

// checkPicks is a *PicksError for picks that a node cannot keep.
func checkPicks(picks []Pick) error {
	e := &PicksError{Count: len(picks)}
	fields := map[string]int{}
	for _, p := range picks {
		e.Bytes += len(label(p)) + len(noRoom)
		fields[p.Field]++
		if fields[p.Field] > fields[e.Field] {
			e.Field = p.Field
		}
	}
	if e.Count <= maxPicks && e.Bytes <= maxAllPicks {
		return nil
	}
	return e
}

// label is what was taken of a group, as numbers.
func label(p Pick) string {
	options := make([]string, len(p.Options))
	for i, o := range p.Options {
		options[i] = strconv.Itoa(o)
	}
	return p.Field + "#" + strconv.Itoa(p.Group) + "=" + strings.Join(options, ",")
}

// taken reads the picks that a node tells.
func taken(list []string) ([]Pick, error) {
	picks := make([]Pick, len(list))
	for i, told := range list {
		group, drawn, ok := strings.Cut(told, "=")
		options, text, _ := strings.Cut(drawn, " ")
		options = strings.TrimSuffix(options, noRoom)
		field, number, also := strings.Cut(group, "#")
		n, err := strconv.Atoi(number)
		if !ok || !also || err != nil {
			return nil, fmt.Errorf("the node tells the pick %q, which is not `field#group=option`", told)
		}
		picks[i] = Pick{Field: field, Group: n, Text: text}
		for _, o := range strings.FieldsFunc(options, func(r rune) bool { return r == ',' }) {
			option, err := strconv.Atoi(o)
			if err != nil {
				return nil, fmt.Errorf("the node tells the pick %q, whose option is no number", told)
			}
			picks[i].Options = append(picks[i].Options, option)
		}
	}
	return picks, nil
}

// maxBranch is how many characters the name of a branch may have.
const maxBranch = 256

// branches names the answers of EveryOption by what was picked for them, each differently.
func branches(all [][]Pick) []string {
	names, used := make([]string, len(all)), map[string]bool{}
	for i, picks := range all {
		words := make([]string, len(picks))
		for at, p := range picks {
			words[at] = word(p)
		}
		name := strings.Join(words, " / ")
		names[i] = shortened(name, "")
		for n := 2; used[names[i]]; n++ {
			names[i] = shortened(name, fmt.Sprintf(" (%d)", n))
		}
		used[names[i]] = true
	}
	return names
}

// word names a pick: by its text, on one line, or where nothing of that can be seen by the numbers of its options, from 1.
func word(p Pick) string {
	text := strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, p.Text))
	switch {
	case text != "":
		return text
	case len(p.Options) == 0:
		return "no option"
	}
	numbers := make([]string, len(p.Options))
	for i, o := range p.Options {
		numbers[i] = strconv.Itoa(o + 1)
	}
	return "option " + strings.Join(numbers, ", ")
}

// shortened is a name with an ending, in at most maxBranch characters.
func shortened(name, ending string) string {
	runes, room := []rune(name), maxBranch-len(ending)
	if len(runes) > room {
		runes = append(slices.Clone(runes[:room-1]), '…')
	}
	return string(runes) + ending
}
