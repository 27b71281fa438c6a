package generation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// picked writes the drawn options as the node keeps them.
func picked(picks []Pick) []string {
	var list []string
	for _, p := range picks {
		options := make([]string, len(p.Options))
		for i, o := range p.Options {
			options[i] = strconv.Itoa(o)
		}
		list = append(list, p.Field+"#"+strconv.Itoa(p.Group)+"="+strings.Join(options, ","))
	}
	return list
}

// taken reads the options that a node tells as picked.
func taken(list []string) ([]Pick, error) {
	picks := make([]Pick, len(list))
	for i, text := range list {
		group, options, ok := strings.Cut(text, "=")
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

// branch names an answer by what was picked for it.
func branch(picks []Pick) string {
	texts := make([]string, len(picks))
	for i, p := range picks {
		texts[i] = p.Text
	}
	name := []rune(strings.Join(texts, " / "))
	if len(name) > maxBranch {
		name = append(slices.Clone(name[:maxBranch-1]), '…')
	}
	return string(name)
}
