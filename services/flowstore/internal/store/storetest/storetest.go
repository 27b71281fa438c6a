// Package storetest is the conformance suite of the storage port: every engine passes it (store.Store's comments are the
// contract that it checks).
package storetest

import (
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// Engine is what is tested.
type Engine struct {
	// Open opens the store whose data is in dir, an empty folder the first time. The suite closes it.
	Open func(t *testing.T, dir string, clock func() time.Time) store.Store
	// Persists says that what was written is there again when dir is opened again. Where it is not set, the cases of
	// Durability are skipped.
	Persists bool
}

// Category is a group of cases, named for what it holds an engine to.
type Category string

// The categories.
const (
	Reads      Category = "Reads"
	Lists      Category = "Lists"
	Updates    Category = "Updates"
	Revisions  Category = "Revisions"
	Trash      Category = "Trash"
	Purges     Category = "Purges"
	Search     Category = "Search"
	Events     Category = "Events"
	Steps      Category = "Steps"
	Races      Category = "Races"
	Requests   Category = "Requests"
	Namespaces Category = "Namespaces"
	Bounds     Category = "Bounds"
	Durability Category = "Durability"
)

// testCase is one claim. It runs in two namespaces of one store, one after the other, with the same ids: what leaks from
// the first one breaks it in the second.
type testCase struct {
	category Category
	name     string
	run      func(e *env)
}

// Run holds an engine to the contract, each case on a fresh store: all cases but those of RunLarge.
func Run(t *testing.T, engine Engine) {
	t.Helper()
	seen := runCases(t, engine, cases())
	for _, method := range seen.missing() {
		t.Errorf("no case calls %s", method)
	}
}

// RunLarge holds an engine to the contract where a text or a flow is as large as it may be. One goroutine does the work, which is many
// times as much with the race detector, which finds nothing there.
func RunLarge(t *testing.T, engine Engine) {
	t.Helper()
	runCases(t, engine, largeCases())
}

func runCases(t *testing.T, engine Engine, cases []testCase) *calls {
	t.Helper()
	seen := &calls{}
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(string(c.category)+"/"+c.name, func(t *testing.T) {
				if c.category == Durability && !engine.Persists {
					t.Skip("the engine keeps nothing")
				}
				t.Parallel()
				runCase(t, engine, c, seen)
			})
		}
	})
	return seen
}

func cases() []testCase {
	var all []testCase
	for _, list := range [][]testCase{
		readCases(), listCases(), updateCases(), revisionCases(), trashCases(), purgeCases(), searchCases(), eventCases(), stepCases(), raceCases(), requestCases(),
		namespaceCases(), boundCases(), durabilityCases(),
	} {
		all = append(all, list...)
	}
	return all
}

func runCase(t *testing.T, engine Engine, c testCase, seen *calls) {
	t.Helper()
	h := &house{engine: engine, dir: t.TempDir(), clock: newClock(), seen: seen}
	h.open(t)
	t.Cleanup(func() {
		if err := h.store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	for _, ns := range []string{"default", "second-2"} {
		t.Run(ns, func(t *testing.T) { c.run(&env{T: t, house: h, ns: ns}) })
	}
}
