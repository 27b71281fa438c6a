package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// maxFile is the most bytes that are read of a file: no reply and no request that a service takes has more.
const maxFile = 64 << 20

// read fills in the request from its file.
func (o Options) read(req proto.Message) error {
	if o.Request == "" {
		return nil
	}
	text, err := o.open(o.Request)
	if err != nil {
		return err
	}
	yaml := !json.Valid(text)
	if yaml {
		text, err = fromYAML(text)
	}
	if err == nil {
		err = merge(text, req)
	}
	switch {
	case err == nil:
		return nil
	case yaml: // Places in the JSON made of it tell nobody anything.
		return fmt.Errorf("%s: %s", o.Request, place.ReplaceAllString(err.Error(), ""))
	}
	return fmt.Errorf("%s: %w", o.Request, err)
}

var (
	place    = regexp.MustCompile(`^\(line \d+:\d+\): `)
	badValue = regexp.MustCompile(`invalid value for enum field (\w+): (.*)`)
)

// merge reads JSON into a message, and leaves what it does not name as it is.
func merge(text []byte, req proto.Message) error {
	read := req.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(text, read); err != nil {
		return withValues(plainJSON(err), req.ProtoReflect().Descriptor())
	}
	proto.Merge(req, read)
	return nil
}

// withValues tells in place of a word that an enumeration does not have those that it has.
func withValues(err error, message protoreflect.MessageDescriptor) error {
	m := badValue.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	values := valuesOf(message, m[1], map[protoreflect.FullName]bool{})
	if values == nil {
		return err
	}
	return fmt.Errorf("%s%s must be one of %s, and is %s", place.FindString(err.Error()), m[1], strings.Join(values, ", "), m[2])
}

// valuesOf gives the values of the first enumeration field of a name in a message and those within, without the unspecified one.
func valuesOf(message protoreflect.MessageDescriptor, name string, seen map[protoreflect.FullName]bool) (values []string) {
	seen[message.FullName()] = true
	fields := message.Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.Enum() != nil && (f.JSONName() == name || string(f.Name()) == name):
			for j := 1; j < f.Enum().Values().Len(); j++ {
				values = append(values, string(f.Enum().Values().Get(j).Name()))
			}
			return values
		case f.Message() != nil && !seen[f.Message().FullName()]:
			if values := valuesOf(f.Message(), name, seen); values != nil {
				return values
			}
		}
	}
	return nil
}

// plainJSON takes off an error of protojson what is for programmers: its prefix, which has a blank of varying form.
func plainJSON(err error) error {
	_, said, found := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	if !found {
		return err
	}
	return errors.New(said)
}

// fromYAML gives YAML as JSON.
func fromYAML(text []byte) ([]byte, error) {
	doc, err := yamlx.Parse(text)
	if err != nil {
		return nil, err
	}
	var value any
	if err := doc.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// attach adds the files that the command names. A name is the last element of the path where none is given.
func (o Options) attach(system *promptbuilderv1.BuildSystemRequest) error {
	for _, given := range o.Files {
		name, path, named := strings.Cut(given, "=")
		if !named {
			name, path = filepath.Base(given), given
		}
		content, err := o.open(path)
		if err != nil {
			return err
		}
		system.Files = append(system.Files, &promptbuilderv1.PromptFile{Name: name, Content: content})
	}
	return nil
}

// compare has the build compared with an earlier reply, of BuildSystem or BuildAgent.
func (o Options) compare(system *promptbuilderv1.BuildSystemRequest) error {
	if o.Diff == "" {
		return nil
	}
	text, err := o.open(o.Diff)
	if err != nil {
		return err
	}
	old, err := earlier(text)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Diff, err)
	}
	system.Previous = &promptbuilderv1.PreviousBuild{Sections: old.GetSections(), Text: old.GetText(), BuilderVersion: old.GetBuilderVersion()}
	return nil
}

// earlier reads a reply. Fields of another version of the service are no hindrance.
func earlier(text []byte) (*promptbuilderv1.BuildSystemResponse, error) {
	lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
	agent, system := &promptbuilderv1.BuildAgentResponse{}, &promptbuilderv1.BuildSystemResponse{}
	if err := lenient.Unmarshal(text, agent); err == nil && len(agent.GetSystem().GetSections()) > 0 {
		return agent.GetSystem(), nil
	}
	if err := lenient.Unmarshal(text, system); err != nil {
		return nil, plainJSON(err)
	}
	if len(system.GetSections()) == 0 {
		return nil, errors.New("it has no sections; an earlier reply is what --json writes")
	}
	return system, nil
}

// open reads a file, or In for `-`.
func (o Options) open(path string) ([]byte, error) {
	in := o.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		//nolint:errcheck // it was only read
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB", path, maxFile>>20)
	}
	return text, err
}

// writeJSON writes a message as indented JSON, in the names of REST and always in the same form.
func writeJSON(w io.Writer, m proto.Message) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = b.WriteTo(w)
	return err
}
