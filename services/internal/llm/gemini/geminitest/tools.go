package geminitest

import (
	"encoding/json"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// signature is what comes with the first of the calls that are made together, and must come back with it.
const signature = "c2lnbmVk"

// content is one turn.
type content struct {
	Parts []struct {
		Text string `json:"text"`
		Call *struct {
			ID   string         `json:"id"`
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		} `json:"functionCall"`
		Response *struct {
			ID       string         `json:"id"`
			Name     string         `json:"name"`
			Response map[string]any `json:"response"`
		} `json:"functionResponse"`
		Signature string `json:"thoughtSignature"`
	} `json:"parts"`
	Role string `json:"role"`
}

// text is all that a turn says, what a function gave included.
func (c content) text() (all string) {
	for _, p := range c.Parts {
		all += p.Text
		if p.Response != nil {
			all += fmt.Sprint(p.Response.Response["output"])
		}
	}
	return all
}

// calls says how many functions a turn calls, and how many answers it has.
func (c content) calls() (made, answered int) {
	for _, p := range c.Parts {
		if p.Call != nil {
			made++
		}
		if p.Response != nil {
			answered++
		}
	}
	return made, answered
}

// badTools says what is wrong with the functions of a request, in the words of the service.
func (c call) badTools(ask request) string {
	if len(ask.Tools) > 0 && c.options.NoTools {
		return "Function calling is not enabled for models/" + c.options.Model
	}
	open := 0
	for _, turn := range ask.Contents {
		made, answered := turn.calls()
		if answered != open {
			return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
		}
		open = made
		for i, p := range turn.Parts {
			if p.Call != nil {
				if p.Signature != signature {
					return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. Additional data: function call %s, position %d.", p.Call.Name, i)
				}
				break // the others have none
			}
		}
	}
	return ""
}

// calls are the parts by which the model calls what the last turn of a user wishes, and how it spells it, a character a token.
func (ask request) calls() (parts, spelt []string) {
	last := ask.Contents[len(ask.Contents)-1]
	if _, answered := last.calls(); len(ask.Tools) == 0 || answered > 0 {
		return nil, nil
	}
	for i, wish := range servertest.Wishes(last.text()) {
		data, _ := json.Marshal(wish.Name) // a string: cannot fail
		signed := ""
		if i == 0 {
			signed = `,"thoughtSignature":"` + signature + `"`
		}
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"name":%s,"args":%s}%s}`, data, wish.Arguments, signed))
		spelt = append(spelt, servertest.Runes(wish.Arguments)...)
	}
	return parts, spelt
}
