package canon

// Binding is what an approval belongs to. It goes into its digest, so that a decision fits no second approval, call,
// session or namespace (field/review-agent.md S5). No field but the Salt may be empty.
type Binding struct {
	Namespace, Session, Task, Approval string
	// Salt is known to nobody but the store, so that nobody who reads a digest can find by trial the content that it is over (S21). Empty of approvals that
	// were made before there was one, and of dry runs, whose digest is told to nobody but approvers.
	Salt string
}

// Subject is what an approval asks about: ToolCall, Plan, Result or Outcome.
type Subject interface {
	// Kind is the word for it that the digest and the records have.
	Kind() Kind
	keys(b *builder) []key
}

// Kind is what an approval asks about.
type Kind string

// The kinds. OUTCOME asks whether something happened that nothing proves; it is not an approval.
const (
	KindToolCall Kind = "TOOL_CALL"
	KindPlan     Kind = "PLAN"
	KindResult   Kind = "RESULT"
	KindOutcome  Kind = "OUTCOME"
)

// Digest gives the digest that whoever decides has to send back, as proof of what was shown. The error says which field
// cannot be hashed: then nothing may be asked, decided or executed (S29).
func Digest(b Binding, s Subject) (Hash, error) {
	made := builder{}
	if s == nil {
		return "", &HashError{"subject", "is missing"}
	}
	keys := append([]key{
		made.string("of", "approval"), made.number("v", version), made.string("kind", string(s.Kind())), made.name("namespace", b.Namespace),
		made.name("session", b.Session), made.name("task", b.Task), made.name("approval", b.Approval),
	}, s.keys(&made)...)
	if b.Salt != "" {
		keys = append(keys, made.string("salt", b.Salt))
	}
	return made.hash(keys...)
}

// Target is a file or folder that a call would change, or has changed.
type Target struct {
	// Path is cleaned and relative to the root, after links are resolved.
	Path string `json:"path"`
	// Before and After are the hashes of its content; empty where there is no file.
	Before Hash `json:"before,omitempty"`
	After  Hash `json:"after,omitempty"`
	// Mode are the permission bits that it will have, such as 0644; 0 where it will not be there.
	Mode uint32 `json:"mode,omitempty"`
}

func targets(b *builder, list []Target) key {
	items := make([][]key, len(list))
	for i, t := range list {
		items[i] = []key{b.name("path", t.Path), b.state("before", t.Before), b.state("after", t.After), b.number("mode", int64(t.Mode))}
	}
	return b.list("targets", items)
}

// Process is what an exec call runs in, beside its arguments (S26).
type Process struct {
	// Folder identifies the working folder itself, as device and inode.
	Folder string `json:"folder"`
	// Environment are the names of the variables that the process gets, Profile the name of its sandbox.
	Environment []string `json:"environment,omitempty"`
	Profile     string   `json:"profile"`
}

// ToolCall is a call that waits for a decision.
type ToolCall struct {
	Call Hash `json:"call_hash"`
	// Targets are what it changes, in the order of the arguments (a move has two); none for a tool without files.
	Targets []Target `json:"targets,omitempty"`
	// Process is set for exec alone.
	Process *Process `json:"process,omitempty"`
	// Hidden says that something of it is not shown in full: it is binary, or too large (S23).
	Hidden bool `json:"hidden,omitempty"`
}

// Kind is TOOL_CALL.
func (ToolCall) Kind() Kind { return KindToolCall }

func (c ToolCall) keys(b *builder) []key {
	process := value{text: "null"}
	if c.Process != nil {
		process = object([]key{b.name("folder", c.Process.Folder), b.strings("environment", c.Process.Environment), b.string("profile", c.Process.Profile)})
	}
	return []key{b.sum("call_hash", c.Call), targets(b, c.Targets), member("process", process), b.flag("hidden", c.Hidden)}
}

// Items are the five items of a session (seed 001).
type Items struct {
	Goal          string   `json:"goal"`
	WhyNow        string   `json:"why_now"`
	Constraints   []string `json:"constraints,omitempty"`
	PlanBrief     []string `json:"plan_brief,omitempty"`
	OpenQuestions []string `json:"open_questions,omitempty"`
}

// Plan is a plan that waits for a decision: the text as it is shown, and what it serves.
type Plan struct {
	Text  string `json:"text"`
	Items Items  `json:"items"`
}

// Kind is PLAN.
func (Plan) Kind() Kind { return KindPlan }

func (p Plan) keys(b *builder) []key {
	items := []key{
		b.string("goal", p.Items.Goal), b.string("why_now", p.Items.WhyNow), b.strings("constraints", p.Items.Constraints),
		b.strings("plan_brief", p.Items.PlanBrief), b.strings("open_questions", p.Items.OpenQuestions),
	}
	return []key{b.name("text", p.Text), member("items", object(items))}
}

// Executed is a call that a result speaks of.
type Executed struct {
	// Seq is the number of its row in the record, Call its hash, Status how it ended.
	Seq     int64    `json:"seq"`
	Call    Hash     `json:"call_hash"`
	Status  string   `json:"status"`
	Targets []Target `json:"targets,omitempty"`
}

// Result is a result that waits for a decision: the text as it is shown, and the executed rows that it judges.
type Result struct {
	Text     string     `json:"text"`
	Executed []Executed `json:"executed,omitempty"`
}

// Kind is RESULT.
func (Result) Kind() Kind { return KindResult }

func (r Result) keys(b *builder) []key {
	rows := make([][]key, len(r.Executed))
	for i, e := range r.Executed {
		rows[i] = []key{b.number("seq", e.Seq), b.sum("call_hash", e.Call), b.name("status", e.Status), targets(b, e.Targets)}
	}
	return []key{b.name("text", r.Text), b.list("executed", rows)}
}

// Outcome is a call whose effect nothing proves: a person says whether it happened (field/review-agent.md C49).
type Outcome struct {
	Call    Hash     `json:"call_hash"`
	Targets []Target `json:"targets,omitempty"`
	// Intent is the number of the row that began it, Attempt which attempt it was, from 1.
	Intent  int64 `json:"intent"`
	Attempt int64 `json:"attempt"`
}

// Kind is OUTCOME.
func (Outcome) Kind() Kind { return KindOutcome }

func (o Outcome) keys(b *builder) []key {
	return []key{b.sum("call_hash", o.Call), targets(b, o.Targets), b.number("intent", o.Intent), b.number("attempt", o.Attempt)}
}
