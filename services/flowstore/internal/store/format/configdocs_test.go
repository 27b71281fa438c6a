package format

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The page for users has a row for each key of config.yaml, with its default, and no others.
func TestConfigPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "flowstore-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := DefaultSettings()
	want := map[string]string{
		"version": "must be there", "created": "not known", "updated": "not known", "providers": "none",
		"settings.max_files_per_folder": "`" + strconv.Itoa(int(d.MaxFilesPerFolder)) + "`",
		"settings.timezone":             "`" + d.Timezone.String() + "`",
		"settings.metadata":             "`" + strconv.FormatBool(d.Metadata) + "`",
	}
	for _, key := range foreignKeys {
		want["settings."+key] = "none"
	}
	got := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z._]+)` \\|.*\\| ([^|]+) \\|$").FindAllSubmatch(page, -1) {
		got[string(row[1])] = string(row[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, key := range slices.Concat(rootKeys, ownSettings) {
		if want[key] == "" && want["settings."+key] == "" && key != "settings" {
			t.Errorf("%s is no row", key)
		}
	}
}
