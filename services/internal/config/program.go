package config

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// AsksHelp says whether a command line asks what the settings are.
func AsksHelp(args []string) bool {
	return slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// AsksVersion says whether a command line asks which version the program has.
func AsksVersion(args []string) bool { return slices.Contains(args, "--version") }

// LoadProgram fills the settings of a program from the file that --config names, the environment and the command line,
// in the order of Load. sections are those of Source.
func LoadProgram(dst any, sections map[string]string, args, env []string) error {
	known := []string{"config"}
	for _, k := range Keys(dst) {
		known = append(known, k.Name)
	}
	flags, wrong := arguments(args, known)
	file := flags["config"]
	delete(flags, "config")
	return Load(dst, Source{File: file, Env: env, Flags: flags, Sections: sections, wrong: wrong})
}

// FileOf is the settings file that a command line names; empty for none.
func FileOf(args []string) string {
	flags, _ := arguments(args, []string{"config"})
	return flags["config"]
}

// Print lists every key of settings, a pointer to a struct, as a flag with its value and help.
func Print(out io.Writer, settings any) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range Keys(settings) {
		fmt.Fprintf(w, "  --%s\t%s\t%s\n", k.Name, k.Value, k.Help)
	}
	return w.Flush()
}
