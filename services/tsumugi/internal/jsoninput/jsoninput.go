// Package jsoninput reads JSON that a person has written into a message. Its errors name the member that is wrong, and what would be right.
package jsoninput

import (
	"bytes"
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
	if at := doubled(text); at != "" {
		return twice(at)
	}
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
	if at := doubled([]byte(text)); at != "" {
		return twice(at)
	}
	return nil
}

func twice(at string) error {
	return fmt.Errorf("%s: it is there twice in one object, and which one counts would depend on the reader", at)
}

// doubled gives the path of the first member whose name stands twice in one object, at any depth; empty where there is none, or where text is no JSON.
func doubled(text []byte) string {
	if !json.Valid(text) {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return doubledIn(d, "")
}

// doubledIn looks through the next value, which is at a path. It is JSON, so that no token of it has an error.
func doubledIn(d *json.Decoder, path string) string {
	open, _ := d.Token()
	if open != json.Delim('{') && open != json.Delim('[') {
		return ""
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", path, i)
		if open == json.Delim('{') {
			key, _ := d.Token()
			name, _ := key.(string)
			if inner = strings.TrimPrefix(path+"."+name, "."); seen[name] {
				return inner
			}
			seen[name] = true
		}
		if at := doubledIn(d, inner); at != "" {
			return at
		}
	}
	_, _ = d.Token()
	return ""
}
