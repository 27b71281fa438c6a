package router

import (
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Step is a step of the pipeline, by its number in field/review-agent.md 5.
type Step int

// The steps at which a call can be stopped before it starts.
const (
	StepTool   Step = 1
	StepArgs   Step = 2
	StepHash   Step = 3
	StepGuard  Step = 4
	StepPath   Step = 5
	StepPolicy Step = 6
)

var stepNames = map[Step]string{
	StepTool: "TOOL", StepArgs: "ARGUMENTS", StepHash: "HASH", StepGuard: "GUARD", StepPath: "PATH", StepPolicy: "POLICY",
}

// String is the name of the step; UNKNOWN of none.
func (s Step) String() string {
	if name, ok := stepNames[s]; ok {
		return name
	}
	return "UNKNOWN"
}

// Stop says where a call was stopped, and why.
type Stop struct {
	Step Step `json:"step"`
	// Code is one word: UNKNOWN_TOOL, TOOL_CHANGED, INCOMPLETE, ARGUMENTS, DENIED_BEFORE, GUARD, POLICY_DENY, or that of a folder.Refusal.
	Code string `json:"code"`
	// Reason is a sentence for the model and the person alike.
	Reason string `json:"reason"`
}

// Codes of stops beside those of folder.Refusal.
const (
	CodeUnknownTool  = "UNKNOWN_TOOL"
	CodeToolChanged  = "TOOL_CHANGED"
	CodeNobody       = "NOBODY_RUNS_IT"
	CodeIncomplete   = "INCOMPLETE"
	CodeArguments    = "ARGUMENTS"
	CodeNoHash       = "NO_HASH"
	CodeGuard        = "GUARD"
	CodeDeniedBefore = "DENIED_BEFORE"
	CodePolicy       = "POLICY_DENY"
	CodeBatch        = "BATCH_TOO_LARGE"
	CodeDisk         = "FOLDER_UNREADABLE"
)

// Judged is a call after steps 1 to 6. Its zero value is denied.
type Judged struct {
	Call Call
	// Tool is nil where it is not known.
	Tool *tool.Tool
	// Args are canonical, with defaults: what runs (S6). Defaulted are the fields filled in.
	Args      []byte
	Defaulted []string
	// ArgsDigest is the hash of Args, or of what was proposed where that is no arguments. CallHash is empty where it was stopped before.
	ArgsDigest, CallHash canon.Hash
	// Root is the folder that its paths are in; Paths are all that it names, cleaned, and where links among them lead, Writes those that
	// get content.
	Root          string
	Paths, Writes []string
	// Explanation is the verdict with its reasons, where it came so far.
	Explanation policy.Explanation
	// Plan is what a file change would do, whole: it goes into the digest and is held against the disk, and is shown to nobody. Shown is
	// what may be shown to this caller: without content where a read of the target would not be allowed (S21). Both nil for others.
	Plan, Shown *folder.Plan
	// Subject is what an approval of it digests.
	Subject canon.ToolCall
	// Stop is nil where the call may go on: by Verdict.
	Stop *Stop

	root    folder.Root
	change  folder.Change
	asked   policy.Call
	session Session
	named   []string
	read    bool
	// approved: a person has allowed this read.
	approved bool
}

// Verdict is what becomes of the call: Deny where it was stopped.
func (j Judged) Verdict() policy.Verdict {
	if j.Stop != nil || j.Tool == nil || j.CallHash == "" {
		return policy.Deny
	}
	return j.Explanation.Verdict
}

// Reads says that the call only looks: allowed, it is carried out at once, before a gate opens (C69).
func (j Judged) Reads() bool { return j.read }

// Result is what the model is told of a call that goes no further, or waits for a person.
func (j Judged) Result() tool.Result {
	switch {
	case j.Stop != nil:
		return tool.Outcome(tool.Refused, j.Stop.Reason)
	case j.Verdict() == policy.Ask:
		return tool.Outcome(tool.Waiting, "")
	case j.Verdict() == policy.Allow:
		return tool.Outcome(tool.Waiting, "It is allowed, and starts when its turn comes.")
	}
	return tool.Outcome(tool.Refused, "")
}

// Asked is what policy judged: what an approval is made of (gate.ToolCall).
func (j Judged) Asked() policy.Call { return j.asked }

// Digest is the digest of an approval of this call with its salt (S5). The error says what cannot be hashed: then nothing is asked (S29).
func (j Judged) Digest(approval, salt string) (canon.Hash, error) {
	if j.Verdict() == policy.Deny {
		return "", &canon.HashError{Field: "call", Message: "is denied: nothing of it is approved"}
	}
	s := j.session
	return canon.Digest(canon.Binding{Namespace: s.Namespace, Session: s.Session, Task: s.Task, Approval: approval, Salt: salt}, j.Subject)
}

func (j *Judged) stop(step Step, code, reason string) bool {
	j.Stop = &Stop{Step: step, Code: code, Reason: reason}
	return false
}

// refuse stops it at its path, for what a folder says.
func (j *Judged) refuse(err error) bool {
	var refusal *folder.Refusal
	if errors.As(err, &refusal) {
		return j.stop(StepPath, string(refusal.Code), refusal.Error())
	}
	return j.stop(StepPath, CodeDisk, "the folder cannot be read now: "+err.Error())
}
