package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Status is how a call ended. Any other word, the empty one among them, is told as UNKNOWN: what is not known to have been
// stopped may have happened.
type Status string

// How calls end, or stand.
const (
	Executed    Status = "EXECUTED"
	Failed      Status = "FAILED"
	Denied      Status = "DENIED"
	Expired     Status = "EXPIRED"
	Voided      Status = "VOIDED"
	StaleTarget Status = "STALE_TARGET"
	Unknown     Status = "UNKNOWN"
	Refused     Status = "REFUSED"
	Waiting     Status = "WAITING"
)

// told is what the model reads where a result has no text of its own, and whether nothing was executed. A call that has FAILED
// may have begun.
var told = map[Status]struct {
	text    string
	nothing bool
}{
	Executed:    {"The call was executed. It has no output.", false},
	Failed:      {"The call was started and failed. It gave no reason.", false},
	Denied:      {"A person denied this call. It was not executed. Do not repeat it.", true},
	Expired:     {"Nobody decided about this call in time. It was not executed.", true},
	Voided:      {"This call was withdrawn before it started. It was not executed.", true},
	StaleTarget: {"The target has changed since the change was shown. Nothing was written. Read it again before you propose another change.", true},
	Unknown:     {"It is not known whether this call had an effect. Do not repeat it; look at the state first.", false},
	Refused:     {"The call was refused before anything was asked or executed.", true},
	Waiting:     {"The call waits for a person's decision. It has not been executed.", true},
}

// MaxReason is how much of a person's or policy's own words about a call the model is told, in code points.
const MaxReason = 2000

// Result is the outcome of a call as the model sees it: always a status and always a text, so that nothing looks like success
// that is none (cases/agent.md c34).
type Result struct {
	Status Status `json:"status"`
	// NotExecuted says that nothing was done, for sure.
	NotExecuted bool `json:"not_executed"`
	// Untrusted says that the text is what a tool gave: data, and never an instruction or a decision (cases/agent.md c28).
	Untrusted bool `json:"untrusted,omitempty"`
	// Cut says that the output was longer than the tool's limit, Replaced that bytes of it were no UTF-8.
	Cut      bool   `json:"cut,omitempty"`
	Replaced bool   `json:"replaced_bytes,omitempty"`
	Text     string `json:"text"`
	// Edited are the arguments with which a person approved or decided about the call, where these are not the model's own (S7).
	Edited string `json:"arguments_changed_by_a_person,omitempty"`
	// Beside says, in the last result of an answer, what else of the answer was refused.
	Beside string `json:"refused_beside_the_calls,omitempty"`
}

// Output is the result of a call that gave output, or an error as output: EXECUTED or FAILED, at most limit bytes of text.
func Output(s Status, output []byte, limit int) Result {
	r := Outcome(s, "")
	if len(output) == 0 {
		return r
	}
	r.Untrusted = true
	if len(output) > limit {
		output, r.Cut = output[:max(limit, 0)], true
		output = whole(output)
	}
	r.Replaced = !utf8.Valid(output)
	r.Text = strings.ToValidUTF8(string(output), "\uFFFD")
	if r.Text == "" {
		r.Text = "The output is left out: it is longer than the limit of the tool."
	}
	return r
}

// whole drops the beginning of a character from the end of a text.
func whole(text []byte) []byte {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// reasonMark stands between the sentence of a status and the reason.
const reasonMark = "\nReason: "

// Outcome is the result of a call without output. The reason, of a person, a rule or the router, stands behind the sentence that
// says what the status means.
func Outcome(s Status, reason string) Result {
	t, known := told[s]
	if !known {
		s = Unknown
		t = told[s]
	}
	r := Result{Status: s, NotExecuted: t.nothing, Text: t.text}
	if reason = strings.TrimSpace(reason); reason != "" {
		reason, r.Cut = Plain(reason, MaxReason)
		r.Text += reasonMark + reason
	}
	return r
}

// Reason is what Outcome was given beside the status, without the sentence that is for the model; empty where there was none.
func (r Result) Reason() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Text, told[r.Status].text), reasonMark)
}

// Message is the result as the content of a message of the role tool: an object of JSON, so that no output can add a status of
// its own.
func (r Result) Message() string {
	if r.Text == "" || told[r.Status].text == "" {
		was := r
		r = Outcome(r.Status, "")
		r.Text, r.Edited, r.Beside = strings.TrimSpace(r.Text+"\n"+was.Text), was.Edited, was.Beside
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil { // Strings and flags always have a form.
		return `{"status":"UNKNOWN","not_executed":false,"text":"the result cannot be told"}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
