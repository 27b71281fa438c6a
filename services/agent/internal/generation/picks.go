package generation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// picked writes the drawn options as the node keeps them, and behind them, after a blank, the texts of those that name the
// branch.
func picked(picks, naming []Pick) []string {
	var list []string
	for _, p := range picks {
		told := label(p)
		for _, n := range naming {
			if text := kept(n); n.Field == p.Field && n.Group == p.Group && text != "" {
				told += " " + text
			}
		}
		list = append(list, told)
	}
	return list
}

// label is what was taken of a group, as numbers.
func label(p Pick) string {
	options := make([]string, len(p.Options))
	for i, o := range p.Options {
		options[i] = strconv.Itoa(o)
	}
	return p.Field + "#" + strconv.Itoa(p.Group) + "=" + strings.Join(options, ",")
}

// maxPick is how many bytes flowstore keeps of a pick.
const maxPick = 256

// kept is as much of the text of a pick as the node has room for, on one line.
func kept(p Pick) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, strings.TrimSpace(p.Text))
	room := maxPick - len(label(p)) - len(" …")
	if len(text) <= room {
		return text
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:max(room, 0)] + "…"
}

// taken reads the options that a node tells as picked.
func taken(list []string) ([]Pick, error) {
	picks := make([]Pick, len(list))
	for i, text := range list {
		group, options, ok := strings.Cut(text, "=")
		options, _, _ = strings.Cut(options, " ")
		field, number, also := strings.Cut(group, "#")
		n, err := strconv.Atoi(number)
		if !ok || !also || err != nil {
			return nil, fmt.Errorf("the node tells the pick %q, which is not `field#group=option`", text)
		}
		picks[i] = Pick{Field: field, Group: n}
		for _, o := range strings.FieldsFunc(options, func(r rune) bool { return r == ',' }) {
			option, err := strconv.Atoi(o)
			if err != nil {
				return nil, fmt.Errorf("the node tells the pick %q, whose option is no number", text)
			}
			picks[i].Options = append(picks[i].Options, option)
		}
	}
	return picks, nil
}

// maxBranch is how many characters the name of a branch may have.
const maxBranch = 256

// branch names an answer by what was picked for it, as its node will tell it.
func branch(picks []Pick) string { return branchOf(picked(picks, picks)) }

// branchOf names an answer by the texts in its node; empty where there are none.
func branchOf(list []string) string {
	texts, told := make([]string, len(list)), false
	for i, pick := range list {
		_, options, _ := strings.Cut(pick, "=")
		_, texts[i], _ = strings.Cut(options, " ")
		told = told || texts[i] != ""
	}
	if !told {
		return ""
	}
	name := []rune(strings.Join(texts, " / "))
	if len(name) > maxBranch {
		name = append(slices.Clone(name[:maxBranch-1]), '…')
	}
	return string(name)
}
