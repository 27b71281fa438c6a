package main

import (
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// drawingOf draws from a flow that was acknowledged, and from its nodes.
func drawingOf(f *flowstorev1.Flow) drawing {
	l := trialOf(f).ledger
	for i, n := range f.GetNodes() {
		l.set(key{n.GetNode(), partText}, saying{Texts: []string{"user", "000000000000000" + string('0'+rune(i)) + " "}}.value())
	}
	return drawing{ledger: l, random: rand.New(rand.NewPCG(1, 1)), flow: f.GetName(), maxFlows: 4}
}

// done takes an operation and has it acknowledged.
func (d drawing) done(t *testing.T, o *operation) {
	t.Helper()
	if o == nil || !d.take(o) {
		t.Fatal("nothing was drawn")
	}
	d.acknowledge(o, "")
}

// What is undone and done again is known where the order of the changes is.
func TestStepsAreKnown(t *testing.T) {
	t.Parallel()
	d := drawingOf(held())
	first := maps.Clone(d.is[d.flow])
	d.done(t, updateFlow(d))
	second := maps.Clone(d.is[d.flow])
	d.done(t, d.part(map[key]string{{d.flow, partCurrent}: ""}, nil))
	d.done(t, undoFlow(d))
	if delete(first, partCurrent); !maps.Equal(d.is[d.flow], first) {
		t.Errorf("undone to %q", d.is[d.flow])
	}
	d.done(t, redoFlow(d))
	if delete(second, partCurrent); !maps.Equal(d.is[d.flow], second) {
		t.Errorf("done again to %q", d.is[d.flow])
	}
	d.done(t, undoFlow(d))
	d.done(t, updateFlow(d))
	if redoFlow(d) != nil {
		t.Error("a new change leaves what can be done again")
	}
	at, other := updateFlow(d), d.part(map[key]string{head(d.flow, "x"): "nodes/a"}, nil)
	if !d.take(at) || !d.take(other) {
		t.Fatal("they stand in each other's way")
	}
	d.acknowledge(at, "")
	d.acknowledge(other, "")
	if undoFlow(d) != nil {
		t.Error("of two changes at once one is taken for the last")
	}
}

// A step whose node is in the trash is not drawn: it is refused.
func TestStepsNeedTheirNodes(t *testing.T) {
	t.Parallel()
	d := drawingOf(held())
	d.done(t, d.part(map[key]string{member(d.flow, "nodes/c"): "", head(d.flow, "h"): ""}, nil))
	if undoFlow(d) == nil {
		t.Error("it cannot be undone")
	}
	d.done(t, &operation{writes: map[key]string{{"nodes/c", partText}: "", {"nodes/c", partTrash}: isThere}})
	if undoFlow(d) != nil {
		t.Error("it can be undone without its node")
	}
}

// What comes back from the trash is what went there; what was purged has nothing but its reason.
func TestTrashKeepsTheParts(t *testing.T) {
	t.Parallel()
	d := drawingOf(held())
	before := maps.Clone(d.is[d.flow])
	d.done(t, deleteFlow(d))
	if got := d.is[d.flow]; !maps.Equal(got, map[string]string{partTrash: isThere}) || len(d.flows) > 0 {
		t.Errorf("in the trash it is %q", got)
	}
	d.done(t, undeleteFlow(d))
	if got := d.is[d.flow]; !maps.Equal(got, before) {
		t.Errorf("it comes back as %q", got)
	}
	d.done(t, deleteFlow(d))
	o := purgeFlow(d)
	d.done(t, o)
	if got := d.is[d.flow]; len(got) != 1 || got[partPurged] == "" || len(d.trash) > 0 {
		t.Errorf("purged it is %q", got)
	}
}

// The service's answers for what is gone are parts, and other errors are errors.
func TestGoneParts(t *testing.T) {
	t.Parallel()
	refusal := func(code codes.Code, reason string) error {
		return apierr.New(code, reason, "m", "purge_reason", "r").GRPCStatus().Err()
	}
	for reason, want := range map[string]map[string]string{
		"DELETED": {partTrash: isThere}, "PURGED": {partPurged: "r"}, "NOT_FOUND": nil,
	} {
		if got, err := goneParts(refusal(codes.NotFound, reason)); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %q, %v", reason, got, err)
		}
	}
	if _, err := goneParts(refusal(codes.DataLoss, "UNREADABLE_FILE")); err == nil {
		t.Error("a file that cannot be read is taken for none")
	}
}

// A text that was purged is found wherever it is left, unless another node has a part of it.
func TestCompareErasedFindsTexts(t *testing.T) {
	t.Parallel()
	const text = "0123456789abcdef the text"
	for name, tt := range map[string]struct {
		bytes  string
		copied bool
		lost   int
	}{
		"nothing":      {"0123456789abcdee the text", false, 0},
		"left":         {"\x00\x01abc0123456789abcdef \xff", false, 1},
		"left by half": {text, true, 0},
	} {
		trial := &trial{Report: kill.NewReport(io.Discard, 1), ledger: newLedger(), data: t.TempDir()}
		trial.ledger.set(key{"nodes/a", partText}, saying{Texts: []string{"user", text}}.value())
		trial.ledger.noteErased("nodes/a")
		trial.ledger.copied[marker(text)] = tt.copied
		if err := os.WriteFile(filepath.Join(trial.data, "local.db"), []byte(tt.bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := trial.compareErased(); err != nil || trial.Lost != tt.lost {
			t.Errorf("%s: %d losses, want %d, %v", name, trial.Lost, tt.lost, err)
		}
	}
}

// flowstore check may tell of a link to what was deleted, and has to; and of nothing else.
func TestCompareFindings(t *testing.T) {
	t.Parallel()
	const target = "01a22307-285b-70be-ada2-4112155ab572"
	const link = `{"namespaces":[{"findings":[{"path":"p","kind":"dangling_link","reason":"no flow ` + target + `"}]}]}`
	for name, tt := range map[string]struct {
		gone bool
		told string
		lost int
	}{
		"nothing":               {false, `{"namespaces":[{"findings":[]}]}`, 0},
		"a link to what is not": {true, link, 0},
		"a link to what is":     {false, link, 1},
		"a link is not told":    {true, `{"namespaces":[]}`, 1},
		"something else":        {false, `{"namespaces":[{"findings":[{"path":"p","kind":"duplicate_id"}]}]}`, 1},
	} {
		f := held()
		f.Links[0].Flow = "flows/" + target
		trial := trialOf(f)
		if !tt.gone {
			trial.ledger.set(key{"flows/" + target, partIs}, isThere)
		}
		if err := trial.compareFindings([]byte(tt.told)); err != nil || trial.Lost != tt.lost {
			t.Errorf("%s: %d losses, want %d, %v", name, trial.Lost, tt.lost, err)
		}
	}
}
