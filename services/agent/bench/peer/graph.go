package peer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Graph is a process of Node that runs turns of LangGraph JS.
type Graph struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// StartGraph installs what the folder's lock file names, unless it is there, and starts turns.js. An error says what is missing.
func StartGraph(ctx context.Context, dir string) (*Graph, error) {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@langchain", "langgraph")); err != nil {
		install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
		install.Dir = dir
		if out, err := install.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm ci in %s: %w: %.300s", dir, err, out)
		}
	}
	g := &Graph{cmd: exec.CommandContext(ctx, "node", "turns.js")}
	g.cmd.Dir, g.cmd.Stderr = dir, os.Stderr
	in, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g.in, g.out = in, bufio.NewReader(out)
	return g, g.cmd.Start()
}

// Turns runs so many and gives the microseconds of a processor that each took.
func (g *Graph) Turns(n int) (float64, error) {
	if _, err := fmt.Fprintln(g.in, n); err != nil {
		return 0, err
	}
	line, err := g.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

// Close ends the process.
func (g *Graph) Close() {
	_ = g.in.Close()
	_ = g.cmd.Wait() // It has no more to say.
}
