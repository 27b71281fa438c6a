package tool

import (
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// Separator stands between the name of an MCP server and that of its tool. It may stand in neither the name of a server nor
// that of any other tool, so that nobody's tool can look like one of a server.
const Separator = "."

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	// more may stand in the names of the tools of MCP servers.
	more = "./"
)

// Full is the name that models, rules and records use: `read`, or `server.tool` for a tool of an MCP server.
func (d Definition) Full() string {
	if d.Origin.Kind == MCP {
		return d.Origin.Server + Separator + d.Name
	}
	return d.Name
}

func checkName(d Definition) []string {
	var out []string
	allowed := letters
	switch d.Origin.Kind {
	case MCP:
		allowed += more
		if !made(d.Origin.Server, letters, MaxServer) {
			out = append(out, fmt.Sprintf("the name of its server is %s, and must be 1 to %d letters, digits, _ or -", quote(d.Origin.Server), MaxServer))
		}
		if d.Origin.ServerID == "" {
			out = append(out, "its server has no id")
		}
	case BuiltIn, Client:
		if d.Origin.Server != "" || d.Origin.ServerID != "" {
			out = append(out, "it names a server, and comes from none")
		}
	default:
		out = append(out, fmt.Sprintf("it comes from %s, and must come from %s, %s or %s", quote(string(d.Origin.Kind)), BuiltIn, Client, MCP))
	}
	if !made(d.Name, allowed, MaxName) {
		out = append(out, fmt.Sprintf("its name must be 1 to %d characters of letters, digits and %s", MaxName, strings.Join(strings.Split(allowed[len(letters)-2:], ""), " ")))
	}
	return out
}

func made(s, of string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, of) == ""
}

// quote is a name as an error shows it.
func quote(s string) string {
	s, _ = Plain(s, MaxName)
	return `"` + s + `"`
}

// maxWire is the length of a name that the APIs of model servers take, in bytes.
const maxWire = 64

// wireName is a name as the APIs of model servers take it: letters, digits, _ and - alone. A name that has to change, or to be
// cut, ends with the beginning of its hash, so that two never become one.
func wireName(full string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return r
		}
		return '_'
	}, full)
	if name == full && len(name) <= maxWire {
		return name
	}
	const digits = 8
	end := "_" + string(canon.Sum([]byte(full)))[:digits]
	return name[:min(len(name), maxWire-len(end))] + end
}
