package routes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The table in docs/rest.md is the surface: nothing is missing, nothing is left over.
func TestDocumentedRoutes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "rest.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	variable := regexp.MustCompile(`\{[\w.]+=(\w+)/\*\}`)
	for _, r := range All() {
		row := "| " + string(r.RPC.Parent().Name()) + "." + string(r.RPC.Name()) + " | `" + r.Method + " " +
			variable.ReplaceAllString(r.Path, "$1/{id}") + "`"
		if r.Stream() {
			row += ", a stream"
		}
		want = append(want, row+" |")
	}
	got := regexp.MustCompile(`(?m)^\| \w+Service\..*$`).FindAllString(string(text), -1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table in docs/rest.md (-the protos +the table):\n%s", diff)
	}
	if !strings.Contains(string(text), "GatewayErrorReason") {
		t.Error("docs/rest.md does not say where the reasons are")
	}
}
