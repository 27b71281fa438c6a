// Package jsoninput reads JSON that a person has written into a message. Its errors name the member that is wrong, and what would be right.
package jsoninput

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Merge reads JSON into a message, and leaves what it does not name as it is. The error tells everything that is wrong.
func Merge(text []byte, req proto.Message) error {
	read := req.ProtoReflect().New().Interface()
	err := protojson.Unmarshal(text, read)
	if err == nil {
		proto.Merge(req, read)
		return nil
	}
	switch wrong := refused(text, read.ProtoReflect()); len(wrong) {
	case 0:
		return Plain(err)
	case 1:
		return errors.New(wrong[0])
	default:
		return fmt.Errorf("%d fields of the request are wrong:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	}
}

// position is where in the JSON something is: of JSON that was made of YAML it tells nobody anything.
var position = regexp.MustCompile(`^\(line \d+:\d+\): `)

// Plain takes off an error of protojson what is for programmers: its prefix, which has a blank of varying form, and the place.
func Plain(err error) error {
	_, said, found := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	if !found {
		return err
	}
	return errors.New(position.ReplaceAllString(said, ""))
}

// Object reads a JSON object. must is what the text must be, such as "a JSON object with name and description".
func Object(text, must string) (members map[string]json.RawMessage, err error) {
	err = decode(text, '{', must, &members)
	return members, err
}

// List reads a JSON list. must is what the text must be, such as "a JSON list of rules".
func List(text, must string) (all []json.RawMessage, err error) {
	err = decode(text, '[', must, &all)
	return all, err
}

// decode reads JSON that begins with a bracket into a value of its kind.
func decode(text string, bracket byte, must string, into any) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return fmt.Errorf("it is empty; it must be %s", must)
	}
	var wrong *json.SyntaxError
	switch err := json.Unmarshal([]byte(text), into); {
	case errors.As(err, &wrong):
		return fmt.Errorf("it is no JSON from line %d on (%w); it must be %s", 1+strings.Count(text[:min(int(wrong.Offset), len(text))], "\n"), err, must)
	case err != nil || text[0] != bracket:
		return fmt.Errorf("it must be %s, and begins with %.20q", must, text)
	}
	return nil
}
