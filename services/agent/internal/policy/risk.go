package policy

import (
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Facts are what is known of a call's effect before it starts.
type Facts struct {
	// Measured says that Files and Bytes were found out. A call of a built-in tool that changes files and was not measured has an
	// unknown risk.
	Measured bool
	// Files are how many files it changes, Bytes how many bytes it writes or takes away.
	Files int
	Bytes int64
	// Args are its arguments in canonical form, Diff is what would be shown of the change: both are searched for secrets.
	Args []byte
	Diff string
	// Unshown says that something of the change cannot be shown: it is binary, or too large (S23).
	Unshown bool
}

// Levels are the risks of kinds of calls, before anything else is known of them. Zero is the default.
type Levels struct {
	Write  Risk `json:"write,omitempty"`
	Create Risk `json:"create,omitempty"`
	Move   Risk `json:"move,omitempty"`
	Delete Risk `json:"delete,omitempty"`
	Exec   Risk `json:"exec,omitempty"`
	// Client is for the tools of the client, MCP for those of servers: never below MEDIUM (S18).
	Client Risk `json:"client,omitempty"`
	MCP    Risk `json:"mcp,omitempty"`
}

// DefaultLevels are MEDIUM for all that changes something, HIGH for exec.
func DefaultLevels() Levels {
	return Levels{Write: Medium, Create: Medium, Move: Medium, Delete: Medium, Exec: High, Client: Medium, MCP: Medium}
}

// Thresholds are the sizes from which a change has the risk HIGH. Zero is the default.
type Thresholds struct {
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
}

// DefaultThresholds are 10 files and 1 MiB.
func DefaultThresholds() Thresholds {
	const files, bytes = 10, 1 << 20
	return Thresholds{Files: files, Bytes: bytes}
}

// Code says what a risk comes from.
type Code string

// What risks come from.
const (
	CodeLooks            Code = "LOOKS"             // it changes nothing
	CodeWrites           Code = "WRITES"            // it writes a file
	CodeCreates          Code = "CREATES"           // it makes a file
	CodeMoves            Code = "MOVES"             // it moves a file
	CodeDeletes          Code = "DELETES"           // it deletes
	CodeExecutes         Code = "EXECUTES"          // it runs a program
	CodeOfClient         Code = "CLIENT_TOOL"       // the client runs it
	CodeOfServer         Code = "MCP_TOOL"          // an MCP server runs it
	CodeNoOrigin         Code = "UNKNOWN_TOOL"      // nobody knows where the tool comes from
	CodeSaysDestructive  Code = "SAYS_DESTRUCTIVE"  // the tool says that it may destroy
	CodeSaysOpenWorld    Code = "SAYS_OPEN_WORLD"   // the tool says that it reaches further
	CodeManyFiles        Code = "MANY_FILES"        // more files than the threshold
	CodeManyBytes        Code = "MANY_BYTES"        // more bytes than the threshold
	CodeSecret           Code = "SECRET"            // something has the shape of a secret
	CodeNotSearched      Code = "NOT_SEARCHED"      // too long to be searched for secrets
	CodeNotMeasured      Code = "NOT_MEASURED"      // nobody knows how much it changes
	CodeNotShown         Code = "NOT_SHOWN"         // something of it cannot be shown
	CodeInPages          Code = "IN_PAGES"          // what is shown has several pages
	CodeUnknownExtension Code = "UNKNOWN_EXTENSION" // a file of a kind that is in no list
	CodeModelSays        Code = "MODEL_SAYS"        // the model says so
	CodePlan             Code = "PLAN"              // work begins by it
	CodeResult           Code = "RESULT"            // the task ends by it
	CodeOutcome          Code = "OUTCOME"           // nobody knows whether it happened
)

// Reason is a part of a risk.
type Reason struct {
	Code  Code `json:"code"`
	Level Risk `json:"level"`
	// What is the shape of a secret or the path of a file, Where the argument it stands in.
	What  string `json:"what,omitempty"`
	Where string `json:"where,omitempty"`
	// Number is how many, Limit the threshold.
	Number int64 `json:"number,omitempty"`
	Limit  int64 `json:"limit,omitempty"`
}

// Assessment is the risk of a call, and what it comes from.
type Assessment struct {
	Level   Risk     `json:"level"`
	Reasons []Reason `json:"reasons"`
}

// add takes a reason in. The highest counts; what is not known makes the whole unknown, which gets even less than HIGH.
func (a *Assessment) add(r Reason) {
	switch {
	case len(a.Reasons) == 0:
		a.Level = r.Level
	case !a.Level.Known() || !r.Level.Known():
		a.Level = Unknown
	default:
		a.Level = max(a.Level, r.Level)
	}
	a.Reasons = append(a.Reasons, r)
}

// Assess gives the risk of a call.
func (e *Engine) Assess(c Call) Assessment {
	var a Assessment
	e.kind(c, &a)
	e.sizes(c, &a)
	for _, p := range c.Writes {
		if e.policy.Extensions.judge(p) == Ask {
			a.add(Reason{Code: CodeUnknownExtension, Level: Medium, What: p})
		}
	}
	found, whole := e.search(c.Facts)
	for _, f := range found {
		a.add(f)
	}
	if !whole {
		a.add(Reason{Code: CodeNotSearched, Level: Unknown, Limit: maxSearched})
	}
	return a
}

// kind looks at what the tool does, and what it says of itself.
func (e *Engine) kind(c Call, a *Assessment) {
	l := e.policy.Levels
	switch c.Tool.Origin.Kind {
	case tool.Client:
		a.add(Reason{Code: CodeOfClient, Level: l.Client})
	case tool.MCP:
		a.add(Reason{Code: CodeOfServer, Level: l.MCP, What: c.Tool.Origin.Server})
	case tool.BuiltIn:
		of := map[string]Reason{
			tool.Write: {Code: CodeWrites, Level: l.Write}, tool.Create: {Code: CodeCreates, Level: l.Create}, tool.Move: {Code: CodeMoves, Level: l.Move},
			tool.Delete: {Code: CodeDeletes, Level: l.Delete}, tool.Exec: {Code: CodeExecutes, Level: l.Exec},
		}
		switch r, known := of[c.Tool.Name]; {
		case known:
			a.add(r)
		case !c.Effectful():
			a.add(Reason{Code: CodeLooks, Level: Low})
		default:
			a.add(Reason{Code: CodeNoOrigin, Level: Unknown})
		}
		return
	default:
		a.add(Reason{Code: CodeNoOrigin, Level: Unknown})
	}
	if c.Tool.Annotations.Destructive == tool.Yes {
		a.add(Reason{Code: CodeSaysDestructive, Level: High})
	}
	if c.Tool.Annotations.OpenWorld == tool.Yes {
		a.add(Reason{Code: CodeSaysOpenWorld, Level: Medium})
	}
}

// files are the built-in tools that change files.
var files = []string{tool.Write, tool.Create, tool.Move, tool.Delete}

func (e *Engine) sizes(c Call, a *Assessment) {
	f, t := c.Facts, e.policy.Thresholds
	switch {
	case f.Files < 0 || f.Bytes < 0 || !f.Measured && c.builtIn(files...):
		a.add(Reason{Code: CodeNotMeasured, Level: Unknown})
	case f.Files >= t.Files:
		a.add(Reason{Code: CodeManyFiles, Level: High, Number: int64(f.Files), Limit: int64(t.Files)})
	}
	if f.Bytes >= t.Bytes {
		a.add(Reason{Code: CodeManyBytes, Level: High, Number: f.Bytes, Limit: t.Bytes})
	}
	if f.Unshown {
		a.add(Reason{Code: CodeNotShown, Level: High})
	}
	if n := len(f.Diff); n > canon.PageBytes {
		a.add(Reason{Code: CodeInPages, Level: High, Number: int64(n), Limit: canon.PageBytes})
	}
}

// withDefaults fills in what is left out.
func (p Policy) withDefaults() Policy {
	d, l := DefaultLevels(), &p.Levels
	for _, f := range []struct {
		to   *Risk
		from Risk
	}{{&l.Write, d.Write}, {&l.Create, d.Create}, {&l.Move, d.Move}, {&l.Delete, d.Delete}, {&l.Exec, d.Exec}, {&l.Client, d.Client}, {&l.MCP, d.MCP}} {
		if *f.to == Unknown {
			*f.to = f.from
		}
	}
	t := DefaultThresholds()
	if p.Thresholds.Files == 0 {
		p.Thresholds.Files = t.Files
	}
	if p.Thresholds.Bytes == 0 {
		p.Thresholds.Bytes = t.Bytes
	}
	p.Rules = slices.Clone(p.Rules)
	return p
}
