package tool

import (
	"encoding/json"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

// Names of the tools that are built in, in the words that the system prompt uses for them.
const (
	Read          = "read"
	List          = "list"
	Stat          = "stat"
	Search        = "search"
	Write         = "write"
	Create        = "create"
	Move          = "move"
	Delete        = "delete"
	SessionStatus = "session_status"
	NodeDetail    = nodecontext.Tool
	Exec          = "exec"
)

// Bounds of the tools that are built in.
const (
	builtInTimeout = 30 * time.Second
	execTimeout    = 2 * time.Minute
	builtInOutput  = 256 << 10 // bytes: some 5,000 lines of a file
	execOutput     = 64 << 10  // bytes
	builtInVersion = "1"
)

// looks are the annotations of a tool that changes nothing, changes of one that does.
var (
	looks   = Annotations{ReadOnly: Yes, Destructive: No, Idempotent: Yes, OpenWorld: No}
	changes = Annotations{ReadOnly: No, Destructive: Yes, Idempotent: No, OpenWorld: No}
	adds    = Annotations{ReadOnly: No, Destructive: No, Idempotent: No, OpenWorld: No}
)

const pathParameter = `"path":{"type":"string","minLength":1,"maxLength":1024,"description":"Path relative to the work folder, with / between its parts"}`

// BuiltIns are the tools that every session has, without exec.
func BuiltIns() []Definition {
	return []Definition{
		builtIn(Read, "Read a text file. Lines are numbered from 1.", looks,
			`{"type":"object","properties":{`+pathParameter+`,"offset":{"type":"integer","minimum":1,"default":1,"description":"First line"},"limit":{"type":"integer","minimum":1,"maximum":10000,"default":2000,"description":"Most lines"}},"required":["path"],"additionalProperties":false}`),
		builtIn(List, "List the files and folders of a folder.", looks,
			`{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":1024,"default":".","description":"Folder relative to the work folder"},"depth":{"type":"integer","minimum":1,"maximum":16,"default":1,"description":"How many levels of folders"},"limit":{"type":"integer","minimum":1,"maximum":1000,"default":200,"description":"Most entries"}},"additionalProperties":false}`),
		builtIn(Stat, "Tell type, size, time of change and hash of a file or folder.", looks,
			`{"type":"object","properties":{`+pathParameter+`},"required":["path"],"additionalProperties":false}`),
		builtIn(Search, "Search the files of a folder for a literal text.", looks,
			`{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":1000,"description":"Text to look for, literally"},"path":{"type":"string","minLength":1,"maxLength":1024,"default":".","description":"Folder or file relative to the work folder"},"ignore_case":{"type":"boolean","default":false},"limit":{"type":"integer","minimum":1,"maximum":1000,"default":100,"description":"Most matches"}},"required":["query"],"additionalProperties":false}`),
		builtIn(Write, "Write the whole content of a text file. A file that is there is replaced.", changes,
			`{"type":"object","properties":{`+pathParameter+`,"content":{"type":"string","description":"The whole new content"}},"required":["path","content"],"additionalProperties":false}`),
		builtIn(Create, "Create a text file. Fails where something of that name is there.", adds,
			`{"type":"object","properties":{`+pathParameter+`,"content":{"type":"string","default":"","description":"The whole content"}},"required":["path"],"additionalProperties":false}`),
		builtIn(Move, "Move or rename a file. Fails where something has the new name.", changes,
			`{"type":"object","properties":{"source":{"type":"string","minLength":1,"maxLength":1024,"description":"Path of the file relative to the work folder"},"destination":{"type":"string","minLength":1,"maxLength":1024,"description":"Its new path"}},"required":["source","destination"],"additionalProperties":false}`),
		builtIn(Delete, "Delete a file.", changes,
			`{"type":"object","properties":{`+pathParameter+`},"required":["path"],"additionalProperties":false}`),
		builtIn(NodeDetail, "Show a node of the conversation in full, by an id that stands in the context, or an earlier turn of this session by its number, from 1.", looks, nodecontext.ToolSchema),
		builtIn(SessionStatus, "Tell the current time, its time zone and format, the ids of session and request, and what is left of the budget.", looks,
			`{"type":"object","properties":{},"additionalProperties":false}`),
	}
}

// ExecDefinition is the tool that runs a program. It is off unless it is configured: no shell, only the programs of a list, which argv
// must begin with; without a list any.
func ExecDefinition(network bool, programs ...string) Definition {
	world, description, first := No, "There is no shell and no network.", ""
	if network {
		world, description = Yes, "There is no shell."
	}
	if len(programs) > 0 {
		names, _ := json.Marshal(programs) // Texts always have a form.
		first = `"prefixItems":[{"enum":` + string(names) + `}],`
	}
	d := builtIn(Exec, "Run a program of the allowed list in the work folder. "+description,
		Annotations{ReadOnly: No, Destructive: Yes, Idempotent: No, OpenWorld: world},
		`{"type":"object","properties":{"argv":{"type":"array",`+first+`"items":{"type":"string","maxLength":8192},"minItems":1,"maxItems":256,"description":"The program and its arguments, one text each"},"cwd":{"type":"string","minLength":1,"maxLength":1024,"default":".","description":"Folder relative to the work folder"}},"required":["argv"],"additionalProperties":false}`)
	d.Timeout, d.Limit = execTimeout, execOutput
	return d
}

func builtIn(name, description string, a Annotations, input string) Definition {
	return Definition{
		Name: name, Version: builtInVersion, Description: description, Input: input, Annotations: a, Origin: Origin{Kind: BuiltIn},
		Timeout: builtInTimeout, Limit: builtInOutput,
	}
}

// Touched gives the paths that a call of a built-in tool names, as they stand in its checked arguments: paths are all that it touches,
// writes those among them that get content. Both are empty for a tool without paths; a tool of somebody else may have some that nobody
// knows of.
func Touched(d Definition, args []byte) (paths, writes []string, err error) {
	var a struct{ Path, Source, Destination, Cwd *string }
	if d.Origin.Kind != BuiltIn {
		return nil, nil, nil
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, nil, err
	}
	for _, p := range []*string{a.Path, a.Source, a.Destination, a.Cwd} {
		if p != nil {
			paths = append(paths, *p)
		}
	}
	switch {
	case (d.Name == Write || d.Name == Create) && a.Path != nil:
		writes = []string{*a.Path}
	case d.Name == Move && a.Destination != nil:
		writes = []string{*a.Destination}
	}
	return paths, writes, nil
}
