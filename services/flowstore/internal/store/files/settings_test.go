package files

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Folders grow in the step that config.yaml says, and a tree that was filled in another one goes on behind what is there.
func TestFoldersGrowAsConfigSays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("config.yaml", "version: \"1.0\"\nsettings: {max_files_per_folder: 2}\n")
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createNode("three")))
	d.flushed()
	d.restart()
	d.must(d.createNode("four"))
	d.flushed()
	for name, file := range map[string]string{"two": "000/001", "three": "001/000", "four": "001/001"} {
		if text := d.read("nodes/" + file + ".xml"); !strings.Contains(text, idOf(name).String()) {
			t.Errorf("%s holds not %s:\n%s", file, name, text)
		}
	}
	d.put("config.yaml", "version: \"1.0\"\nsettings: {max_files_per_folder: 100}\n")
	d.restart()
	d.must(d.createNode("five"))
	d.flushed()
	if !d.exists("nodes/001/002.xml") {
		t.Error("the next node is not behind the last one")
	}
	d.must(d.findsInTree(filesysOf(d)))
}

// Times without a zone are of the zone that config.yaml names, wherever a flow is read, and stay as they stand when it changes.
func TestTimesOfTheZoneThatConfigSays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(errors.Join(d.createFlow("novel"), d.addNode("novel", "a")))
	d.flushed()
	d.put("config.yaml", "version: \"1.0\"\nsettings: {timezone: \"-03:00\"}\n")
	created := d.flowOf("novel").Created
	d.edit("flows/000/000.yaml", "created: "+created.Format("2006-01-02T15:04:05.000000-07:00"), "created: 2020-01-02T03:04:05 # 手で")
	d.restart()
	want := time.Date(2020, 1, 2, 6, 4, 5, 0, time.UTC)
	if got := d.flowOf("novel").Created; !got.Equal(want) {
		t.Errorf("created at %v, want %v", got, want)
	}
	listed, err := d.store.Flows(context.Background(), ns, false, store.Entry{}, 10)
	if d.must(err); len(listed) != 1 || !listed[0].Created.Equal(want) {
		t.Errorf("listed as %v", listed)
	}
	d.must(d.addNode("novel", "b"))
	d.flushed()
	if text := d.read("flows/000/000.yaml"); !strings.Contains(text, "created: 2020-01-02T03:04:05 # 手で\n") || !strings.Contains(text, idOf("b").String()) {
		t.Errorf("the file became\n%s", text)
	}
	d.wantProblems()
}

// What has no effect is told of every namespace.
func TestWarningsOfConfigAreTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("config.yaml", "version: \"1.0\"\nmood: calm\n")
	core, logs := observer.New(zap.WarnLevel)
	d.log = zap.New(core)
	d.restart()
	if _, err := d.store.Problems(context.Background(), ns); err != nil {
		t.Fatal(err)
	}
	told := logs.FilterMessage("config.yaml has keys without an effect").All()
	if len(told) != 1 || told[0].ContextMap()["namespace"] != ns || !slices.Equal(told[0].ContextMap()["keys"].([]any), []any{"mood: line 2: is not known and has no effect"}) {
		t.Errorf("told of %v", logs.All())
	}
}
