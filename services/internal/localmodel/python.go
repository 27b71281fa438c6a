package localmodel

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// ownServer is the way out for those who cannot have the small model.
const ownServer = "use a model server of your own (MODEL_URL=http://... MODEL_KIND=llamacpp make demo; docs/backends.md)"

// pythons are the names under which Python 3.10 or later may be found, the usual one first.
var pythons = []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"}

// findPython gives the program of a Python that the server runs with.
func findPython(ctx context.Context) (string, error) {
	var old string
	for _, name := range pythons {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-I", "-c",
			"import sys; print(sys.version.split()[0], sys.version_info >= (3, 10))").Output()
		version, fits, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		if err == nil && fits == "True" {
			return path, nil
		}
		if err == nil && old == "" {
			old = version
		}
	}
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("looking for Python: %w", err)
	}
	if old != "" {
		return "", fmt.Errorf("the small model needs Python 3.10 or later, here is Python %s; install a later one, or %s", old, ownServer)
	}
	return "", fmt.Errorf("the small model needs Python 3.10 or later, which is not here; install it (Debian, Ubuntu: apt install python3 python3-pip), or %s", ownServer)
}

// findPip gives the command of a pip.
func findPip(ctx context.Context) ([]string, error) {
	python, err := findPython(ctx)
	if err != nil {
		return nil, err
	}
	for _, pip := range [][]string{{python, "-m", "pip"}, {"pip3"}} {
		if exec.CommandContext(ctx, pip[0], slices.Concat(pip[1:], []string{"--version"})...).Run() == nil {
			return pip, nil
		}
	}
	return nil, fmt.Errorf("%s has no pip; install it (Debian, Ubuntu: apt install python3-pip; elsewhere: %s -m ensurepip --user), or %s", python, python, ownServer)
}
