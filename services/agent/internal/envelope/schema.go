package envelope

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Tool is what a schema says of a tool: its name, and the JSON Schema of its arguments as text; empty for any object.
type Tool struct{ Name, Schema string }

// Schema is the JSON Schema of all that Parse accepts, as far as a schema can say: it does not know of a key twice, of text
// around the object, of invisible characters, of "yes and no", and of the bounds on bytes and depth. Texts over their limit are
// cut and not refused, so it does not limit them. The bytes are always the same.
func Schema() string { return dialect{wide: true}.envelope() }

// Constraint is the schema for a server that can be held to one. It is narrower than Schema: the checks are objects, no null
// stands for what is left out, no regular expression is used (servers differ in what they make of them), and tools are those
// that there are. Without tools there are no actions in it: then nothing may be called, or calls come in the provider's own
// form. All that it accepts, Schema accepts too, but for texts of blanks. The bytes depend on the tools and their order alone.
func Constraint(tools []Tool) string { return dialect{tools: tools}.envelope() }

// dialect writes one of the two schemas.
type dialect struct {
	wide  bool
	tools []Tool
}

func (d dialect) envelope() string {
	fields := []string{
		"rationale", d.line(MaxSentence), "goal_consistency", d.check(), "constraint_check", d.check(),
		"next_step", enum(Done, PendingUser, Defer, Continue), "step", enum(Planning, Execution, Review, AwaitingApproval),
		"prompt_pattern", d.optional(enum(BaseMain, BaseMainSpecialized)), "reply", d.optional(typed("string")),
		"state_delta", d.optional(anyOf(d.text(MaxLine), d.patch())),
	}
	if d.wide || len(d.tools) > 0 {
		fields = append(fields, "actions", d.optional(list(d.call(), 0, MaxCalls)))
	}
	return structure(5, append(fields, "plan", d.optional(d.plan()), "question", d.optional(d.text(MaxSentence)), "review_verdict", d.optional(d.verdict()))...)
}

// optional lets null stand for what is left out, or for what is cleared.
func (d dialect) optional(schema string) string {
	if d.wide {
		return anyOf(schema, typed("null"))
	}
	return schema
}

// text is one that may be empty. Longer texts are cut when they are read, so that Schema takes them; a model that is held to a form ends
// them in time instead: without a limit a small one goes on until its answer is cut, and then nothing of it can be used.
func (d dialect) text(most int) string {
	if d.wide {
		return typed("string")
	}
	return `{"type":"string","maxLength":` + strconv.Itoa(most) + "}"
}

// line is a text that is not blank.
func (d dialect) line(most int) string {
	if d.wide {
		return `{"type":"string","pattern":"\\S"}`
	}
	return `{"type":"string","minLength":1,"maxLength":` + strconv.Itoa(most) + "}"
}

func (d dialect) name() string {
	if d.wide {
		return strings.TrimSuffix(d.line(MaxName), "}") + `,"maxLength":` + strconv.Itoa(MaxName) + "}"
	}
	return d.line(MaxName)
}

// checkPattern is what splitWord reads.
const checkPattern = `^\s*([Yy][Ee][Ss]|[Nn][Oo]|はい|いいえ)([\s,.:;!–—、。，．：；！（(「-][\s\S]*)?$`

func (d dialect) check() string {
	checked := structure(2, "ok", typed("boolean"), "reason", d.text(MaxSentence))
	if d.wide {
		return anyOf(`{"type":"string","pattern":`+quoted(checkPattern)+`}`, checked)
	}
	return checked
}

func (d dialect) patch() string {
	return structure(0, "goal", d.optional(d.text(MaxLine)), "why_now", d.optional(d.text(MaxLine)),
		"plan_brief", d.optional(list(d.line(MaxItem), 0, MaxSteps)), "open_questions", d.optional(list(d.line(MaxItem), 0, MaxQuestions)))
}

func (d dialect) plan() string {
	action := structure(3, "kind", d.name(), "path", `{"type":"string","maxLength":`+strconv.Itoa(MaxPath)+`}`,
		"description", d.line(MaxLine), "optional", d.optional(typed("boolean")))
	return structure(5, "name", d.line(MaxItem), "aim", d.line(MaxLine), "steps", list(d.line(MaxItem), 1, MaxSteps), "risk", d.line(MaxLine), "criterion", d.line(MaxLine),
		"actions", d.optional(list(action, 0, MaxActions)))
}

func (d dialect) verdict() string {
	if d.wide {
		return enum(Approve, Correct, Reject, "承認", "要修正", "拒否")
	}
	return enum(Approve, Correct, Reject)
}

// call is one of actions. A tool's schema with references is left out: they would point into ours.
func (d dialect) call() string {
	if d.wide {
		return structure(2, "name", d.name(), "args", typed("object"))
	}
	calls := make([]string, len(d.tools))
	for i, t := range d.tools {
		args := t.Schema
		if args == "" || strings.Contains(args, `"$ref"`) || strings.Contains(args, `"$dynamicRef"`) {
			args = typed("object")
		}
		calls[i] = structure(2, "name", enum(t.Name), "args", args)
	}
	return anyOf(calls...)
}

// structure is an object of fields (key and schema by turns), of which the first ones must be there, and no others.
func structure(required int, fields ...string) string {
	var properties, keys []string
	for i := 0; i < len(fields); i += 2 {
		keys = append(keys, quoted(fields[i]))
		properties = append(properties, quoted(fields[i])+":"+fields[i+1])
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(keys[:required], ",") + `],"additionalProperties":false}`
}

func list(items string, least, most int) string {
	return `{"type":"array","minItems":` + strconv.Itoa(least) + `,"maxItems":` + strconv.Itoa(most) + `,"items":` + items + `}`
}

func typed(name string) string { return `{"type":"` + name + `"}` }

func anyOf(schemas ...string) string { return `{"anyOf":[` + strings.Join(schemas, ",") + `]}` }

func enum[T ~string](words ...T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = quoted(string(w))
	}
	return `{"enum":[` + strings.Join(all, ",") + `]}`
}

// quoted is a string of JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always has a form
	return string(b)
}
