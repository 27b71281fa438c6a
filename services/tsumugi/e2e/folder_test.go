package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// A data folder has one owner: a second one is told who holds it, and the first goes on.
func folderHeld(t *testing.T, m mode) {
	w := open(t, m, nobody)
	flow := w.newFlow(t)
	for _, second := range []mode{m, m.killable()} {
		s, err := second.launch(w.ctx, w.settings)
		if err == nil {
			t.Errorf("%s: two own one folder: %v", second.name, s.stop(syscall.SIGTERM))
			continue
		}
		if !strings.Contains(err.Error(), w.settings.data) {
			t.Errorf("%s: the folder is not named: %v", second.name, err)
		}
	}
	w.say(t, flow, "続く。")
	if err := w.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.start(t) // the folder is free again
	if got := len(w.flow(t, flow).Nodes); got != 1 {
		t.Errorf("the flow has %d nodes; want 1", got)
	}
}

// A file that somebody broke, while we run or while we do not, is named, left as it is, and in nobody's way.
func fileBroken(t *testing.T, m mode) {
	w := open(t, m, nobody)
	flow := w.newFlow(t)
	root := w.say(t, flow, "一。\n")
	broken := w.say(t, flow, "二。\n", root)
	last := w.say(t, flow, "三。\n", broken)
	path := w.fileOf(t, broken)
	full := filepath.Join(w.settings.data, path)
	text, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text[:len(text)/2], []byte("<oops")...)
	if err := os.WriteFile(full, text, 0o600); err != nil {
		t.Fatal(err)
	}
	unreadable := refusal{code: codes.DataLoss, reason: "UNREADABLE_FILE", metadata: map[string]string{"name": broken}}
	for _, when := range []string{"while it runs", "behind a restart", "behind another"} {
		_, err := w.flows.GetNode(w.ctx, &flowstorev1.GetNodeRequest{Name: broken})
		unreadable.in("name").check(t, err)
		if got := told(t, err).Metadata["path"]; got == "" || !strings.HasSuffix(path, got) {
			t.Errorf("%s the path is told as %q; want the end of %q", when, got, path)
		}
		nodes := w.wholePath(t, flow, last)
		if len(nodes) != 3 || nodes[1].Node.Name != broken || !strings.Contains(nodes[1].Problem, filepath.Base(path)) || len(nodes[1].Node.Texts) > 0 || nodes[2].Problem != "" {
			t.Errorf("%s the path is %v", when, nodes)
		}
		err = w.generated(short(flow, last))
		unreadable.in("parent").check(t, err)
		if got := told(t, err).Metadata["path"]; got == "" || !strings.HasSuffix(path, got) {
			t.Errorf("%s the agent tells the path as %q; want the end of %q", when, got, path)
		}
		unreadable.in("parent").check(t, w.generated(short(flow, broken)))
		w.say(t, flow, "四。\n", last)
		w.restart(t)
		w.reports(t, path)
		if now, err := os.ReadFile(full); err != nil || !bytes.Equal(now, text) {
			t.Errorf("%s the broken file was touched: %q, %v", when, now, err)
		}
	}
}

// fileOf gives the file of a node, seen from the data folder.
func (w *world) fileOf(t *testing.T, node string) string {
	t.Helper()
	for path, text := range w.files(t) {
		if filepath.Ext(path) == ".xml" && strings.Contains(text, strings.TrimPrefix(node, "nodes/")) {
			return path
		}
	}
	t.Fatalf("%s is in no file", node)
	return ""
}

// reports looks for a broken file in what /readyz says.
func (w *world) reports(t *testing.T, path string) {
	t.Helper()
	for _, admin := range w.admin {
		status, checks := w.readyz(t, admin)
		for _, c := range checks {
			if !c.OK && strings.Contains(c.Message, filepath.Base(path)) {
				if status != 200 {
					t.Errorf("one broken file makes /readyz answer %d", status)
				}
				return
			}
		}
	}
	t.Errorf("no /readyz names %s", path)
}

// Nobody beyond this machine is let in as long as there is no authentication.
func beyondLoopback(t *testing.T, m mode) {
	w := prepare(t, m, nobody)
	for _, host := range []string{"0.0.0.0", "::"} {
		w.settings.host = host
		s, err := m.launch(w.ctx, w.settings)
		if err == nil {
			t.Errorf("%s was opened: %v", host, s.stop(syscall.SIGTERM))
			continue
		}
		if !strings.Contains(err.Error(), "nobody is asked for a token") || !strings.Contains(err.Error(), host) {
			t.Errorf("told was %v", err)
		}
	}
	if m.name != fourProcesses.name {
		return
	}
	for name, keys := range map[string][]string{
		"flowstore": {"listen", "admin"}, "promptbuilder": {"listen", "admin"}, "agent": {"listen", "admin"},
		"gateway": {"listen", "admin"}, "tsumugi": {"listen.grpc", "listen.http", "listen.admin"},
	} {
		for _, key := range keys {
			args := []string{"--" + key, "0.0.0.0:0"}
			if name == "tsumugi" {
				args = append([]string{"serve"}, args...)
			}
			p, err := launch(w.ctx, w.settings, 1, name, args...)
			if err == nil {
				t.Errorf("%s --%s: opened: %v", name, key, p.stop(syscall.SIGTERM))
				continue
			}
			if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "exit status 1") {
				t.Errorf("%s --%s: %v", name, key, err)
			}
		}
	}
}
