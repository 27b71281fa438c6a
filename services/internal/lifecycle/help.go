package lifecycle

import (
	"fmt"
	"io"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// help lists every setting with its default.
func help(p Program, out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\n\nUsage: %s [--config FILE.yaml] [--KEY VALUE ...]\n       %s --version\n\n", p.Name, p.Summary, p.Name, p.Name)
	fmt.Fprintf(out, "Each setting is a key of the file, an environment variable such as %s, or a flag.\n", variable(p.Name, "log.level"))
	fmt.Fprint(out, "A flag wins over the environment, and that over the file. The defaults are:\n\n")
	return config.Print(out, p.Config)
}

// variable is the name of the environment variable of a key.
func variable(service, key string) string {
	return "TSUMUGI_" + strings.ToUpper(service) + "__" + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}
