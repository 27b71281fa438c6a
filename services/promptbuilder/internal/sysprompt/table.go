package sysprompt

// row is a section that may be printed: field/systemprompt-rules.md 1.1. The order of the table is that of the text.
type row struct {
	id      string
	class   Class
	minimal bool // printed in mode Minimal
	heading string
	by      source
	content func(*Draft) Given
}

// source is whose text a section has.
type source int

const (
	ours     source = iota // made here
	replaced               // made here, unless the caller sends it
	callers                // the caller's, if sent
	given                  // of an agent or of the context
	custom                 // the place of the caller's own sections of the class
)

// The sections that others than this file name.
const (
	idIdentity = "identity"
	idBase     = "base"
	idMain     = "main"
	idContext  = "context"
	idTooling  = "tooling"
	idSkills   = "skills"
	idTime     = "time"
	idNow      = "now"
	idFiles    = "project_context"
	idChanging = "changing_files"
	idNotice   = "workspace_files"
)

// table is every section. Functions are its only code: what it says of modes, classes and order is data, which tests read.
func table() []row {
	return []row{
		{idIdentity, Identity, true, "", ours, (*Draft).identity},
		{idBase, Identity, true, "", given, nil},
		{"dialog_policy", Identity, false, "", given, nil},
		{"", Identity, true, "", custom, nil},
		{idTooling, Stable, true, "Tooling", ours, (*Draft).tooling},
		{idSkills, Stable, false, "Skills", ours, (*Draft).skills},
		{"memory_recall", Stable, false, "Memory Recall", callers, nil},
		{"self_update", Stable, false, "Self-Update", callers, nil},
		{"model_aliases", Stable, false, "Model Aliases", callers, nil},
		{"workspace", Stable, true, "Workspace", replaced, (*Draft).workspace},
		{"documentation", Stable, false, "Documentation", callers, nil},
		{"user_identity", Stable, false, "User Identity", callers, nil},
		{idNotice, Stable, true, "Workspace Files (injected)", replaced, (*Draft).notice},
		{idTime, Stable, true, "Current Date & Time", replaced, (*Draft).time},
		{"reply_tags", Stable, false, "Reply Tags", callers, nil},
		{"messaging", Stable, false, "Messaging", callers, nil},
		{"silent_replies", Stable, false, "Silent Replies", callers, nil},
		{"heartbeats", Stable, false, "Heartbeats", callers, nil},
		{"", Stable, true, "", custom, nil},
		{idFiles, Stable, true, "Project Context", ours, (*Draft).stableFiles},

		{"sandbox", Session, true, "Sandbox", replaced, (*Draft).sandbox},
		{"runtime", Session, true, "Runtime", replaced, (*Draft).runtime},
		{"reasoning", Session, false, "Reasoning", replaced, (*Draft).reasoning},
		{"", Session, true, "", custom, nil},
		{"long_term_memory", Session, true, "", given, nil},
		{"session", Session, true, "", given, nil},

		{"specialized", Volatile, true, "", given, nil},
		{idChanging, Volatile, true, "Project Context (changing files)", ours, (*Draft).changingFiles},
		{idContext, Volatile, true, "", given, (*Draft).context},
		{"summaries", Volatile, true, "", given, nil},
		{"session_counters", Volatile, true, "", given, nil},
		{"", Volatile, true, "", custom, nil},
		{idNow, Volatile, true, "", ours, (*Draft).now},
		{idMain, Volatile, true, "", given, nil},
	}
}
