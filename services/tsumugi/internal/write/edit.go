package write

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// edit lets the writer change an answer. The changed text is a node of the writer's own, beside the answer, and the story
// goes on from there. Its file is there until that node is: what somebody wrote by hand cannot be made again.
func (s *session) edit(ctx context.Context, r *round, a *answer) (err error) {
	path, err := s.openEditor(ctx, a)
	if path == "" {
		return err
	}
	defer func() {
		if err != nil {
			s.drafts[a] = path
			err = fmt.Errorf("%w; 書いた文はここにあります what you wrote is in %s: e で続けられます e goes on with it", err, path)
			return
		}
		delete(s.drafts, a)
		err = os.Remove(path)
	}()
	if err != nil {
		return err
	}
	text, err := edited(path, a.text)
	if err != nil {
		return err
	}
	if text == a.text {
		return s.keep(ctx, r, a)
	}
	// The same change of the same answer is one node, also where it is sent again since the connection broke.
	id := uuid.NewSHA1(uuid.MustParse(strings.TrimPrefix(a.node, "nodes/")), []byte(text))
	q := &flowstorev1.AddNodeRequest{Flow: s.flow, Source: written(text), SetCurrent: true, RequestId: id.String()}
	parent := s.at
	if i := slices.Index(r.answers, a); r.shape.repeat > 0 && i > 0 {
		parent = r.answers[i-1].node
	}
	if parent != "" {
		q.Parents = []string{parent}
	}
	var added *flowstorev1.AddNodeResponse
	err = s.patiently(ctx, func() (err error) { added, err = s.flows.AddNode(ctx, q); return err })
	if err != nil {
		return err
	}
	s.stand(added.Node.Name, r.before(a)+text)
	s.say("直した文を残しました kept as you wrote it: %s", added.Node.Name)
	return nil
}

// openEditor gives the file of an answer, or of what the writer has made of it before, after the editor has ended; no path
// where nothing of the writer's is in it. What an editor that failed has saved is in the file all the same.
func (s *session) openEditor(ctx context.Context, a *answer) (path string, err error) {
	command := strings.Fields(s.Editor)
	if len(command) == 0 {
		return "", errNoEditor
	}
	if path = s.drafts[a]; path == "" {
		if path, err = draft(a.text); err != nil {
			return "", err
		}
	}
	run := exec.CommandContext(ctx, command[0], append(command[1:], path)...)
	run.Stdout, run.Stderr = s.Out, s.Out
	if terminal, ok := s.In.(*os.File); ok {
		run.Stdin = terminal
	}
	err = run.Run()
	select {
	case <-s.Interrupts: // it was the editor's
	default:
	}
	if saved, _ := os.ReadFile(path); err != nil && string(saved) == a.text {
		return "", errors.Join(fmt.Errorf("エディタが失敗しました the editor failed; the answer is as it was: %w", err), os.Remove(path))
	}
	if err != nil {
		return path, fmt.Errorf("エディタが失敗しました the editor failed: %w", err)
	}
	return path, nil
}

// draft makes a file with a text.
func draft(text string) (path string, err error) {
	file, err := os.CreateTemp("", "tsumugi-*.txt")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// edited reads what has become of a text.
func edited(path, text string) (string, error) {
	changed, err := readText(path)
	if err == nil && !strings.HasSuffix(text, "\n") {
		// Many editors end the last line of a file, which a sentence in the making does not want.
		changed = strings.TrimSuffix(changed, "\n")
	}
	return changed, err
}
