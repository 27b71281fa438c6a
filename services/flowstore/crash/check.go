package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// check has `flowstore check` look through the tree. It finds nothing but the links to flows that were deleted or purged.
func (t *trial) check(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, t.binary, "check", "--json", t.data).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() != 1 || err != nil && exit == nil {
		return fmt.Errorf("flowstore check: %w", err)
	}
	return t.compareFindings(out)
}

var uuidIn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// compareFindings holds what `flowstore check --json` says to the ledger.
func (t *trial) compareFindings(out []byte) error {
	var told struct {
		Namespaces []struct {
			Findings []store.Finding `json:"findings"`
		} `json:"namespaces"`
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return fmt.Errorf("reading what flowstore check says: %w", err)
	}
	found := map[string]bool{}
	for _, ns := range told.Namespaces {
		for _, f := range ns.Findings {
			if f.Kind != store.DamageLink {
				t.Lose("flowstore check: %s: %s: %s", f.Path, f.Kind, f.Reason)
				continue
			}
			found[flow.Collection+uuidIn.FindString(f.Reason)] = true
		}
	}
	if want := t.ledger.goneTargets(); !maps.Equal(found, want) {
		t.Lose("flowstore check tells of links to %q that lead nowhere; gone are %q", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(want)))
	}
	return nil
}

// goneTargets gives the flows that others link to, and that are deleted or purged. Of a flow in the trash check tells no links: it
// may never come back.
func (l *ledger) goneTargets() map[string]bool {
	gone := map[string]bool{}
	for _, parts := range l.is {
		for part := range parts {
			if link, ok := strings.CutPrefix(part, prefixLink); ok {
				if _, target, _ := strings.Cut(link, " "); l.is[target][partIs] == "" {
					gone[target] = true
				}
			}
		}
	}
	return gone
}
