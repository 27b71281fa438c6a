package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/jsoninput"
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
	if !json.Valid(text) {
		text, err = fromYAML(text)
	}
	if err == nil {
		err = jsoninput.Merge(text, req)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.Request, err)
	}
	return nil
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
		return nil, jsoninput.Plain(err)
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
