package lifecycle

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

func asksHelp(args []string) bool {
	return slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// help lists every setting with its default.
func help(p Program, out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\n\nUsage: %s [--config FILE.yaml] [--KEY VALUE ...]\n\n", p.Name, p.Summary, p.Name)
	fmt.Fprintf(out, "Each setting is a key of the file, an environment variable such as %s, or a flag.\n", variable(p.Name, "log.level"))
	fmt.Fprint(out, "A flag wins over the environment, and that over the file. The defaults are:\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range config.Keys(p.Config) {
		fmt.Fprintf(w, "  --%s\t%s\t%s\n", k.Name, k.Value, k.Help)
	}
	return w.Flush()
}

// variable is the name of the environment variable of a key.
func variable(service, key string) string {
	return "TSUMUGI_" + strings.ToUpper(service) + "__" + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}
