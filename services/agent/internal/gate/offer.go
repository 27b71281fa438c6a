package gate

import (
	gopath "path"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// maxOfferPath is the longest path that a rule is offered for, in code points: the text of the rule shows no more.
const maxOfferPath = 300

// Offer is a scope beyond the one call that a person may choose, with the rule that would be written, word for word (S8).
type Offer struct {
	Scope policy.Scope `json:"scope"`
	// Path is of SESSION_TOOL_PATH.
	Path string `json:"path,omitempty"`
	Text Line   `json:"text"`
	// Rule is that which Text tells. Its id and approver come with the decision; it ends when Text says, however late that is made.
	Rule policy.Standing `json:"rule"`
}

// offers are the scopes that policy lets stand: the very call, the tool on the path, and the tool in the folder of the paths. Never all of
// the root; and none for what is not shown whole in one piece, whose risk is HIGH by that.
func offers(a Approval, c policy.Call) []Offer {
	var out []Offer
	add := func(scope policy.Scope, path string) {
		const later = "-"
		rule, err := policy.Stand(c, a.Risk, policy.Offer{ID: later, Approver: later, Scope: scope, Path: path}, a.Created)
		if err != nil || utf8.RuneCountInString(path) > maxOfferPath {
			return // It is not offered: then the decision is for this call alone.
		}
		rule.ID, rule.Approver = "", ""
		out = append(out, Offer{Scope: scope, Path: path, Text: computed(rule.Text("en"), rule.Text("ja")), Rule: rule})
	}
	add(policy.SessionExact, "")
	if len(c.Paths) == 1 {
		add(policy.SessionToolPath, c.Paths[0])
	}
	if f := folderOf(c.Paths); f != "" {
		add(policy.SessionToolPath, f)
	}
	return out
}

// folderOf is the deepest folder that holds all paths; empty for none but the root.
func folderOf(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	common := gopath.Dir(paths[0])
	for _, p := range paths[1:] {
		for common != "." && gopath.Dir(p) != common && !within(p, common) {
			common = gopath.Dir(common)
		}
	}
	if common == "." || common == "/" {
		return ""
	}
	return common
}

func within(path, folder string) bool {
	return len(path) > len(folder) && path[:len(folder)] == folder && path[len(folder)] == '/'
}

// offered finds the offer of a scope.
func (a Approval) offered(scope policy.Scope, path string) (Offer, bool) {
	for _, o := range a.Offers {
		if o.Scope == scope && o.Path == path {
			return o, true
		}
	}
	return Offer{}, false
}
