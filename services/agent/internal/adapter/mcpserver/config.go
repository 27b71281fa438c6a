package mcpserver

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// Bounds of the settings.
const (
	// MaxServers is how many servers there may be.
	MaxServers = 32
	// DefaultTimeout is how long a call may take where the settings say nothing.
	DefaultTimeout = 2 * time.Minute
	// maxList is how long a list in the settings may be.
	maxList = 256
)

// All is the name in Config.Tools that stands for every tool of a server.
const All = "*"

// Settings are the MCP servers whose tools the agent may use.
type Settings struct {
	Servers []Config `yaml:"servers"`
}

// Config is one server: a program that is started (Command), or an address (URL). The tools and the namespaces that it is for are named.
type Config struct {
	// Name stands before the names of its tools, with a dot between: letters, digits, _ and -.
	Name string `yaml:"name"`
	// Command is a program with an absolute path and its arguments; there is no shell.
	Command []string `yaml:"command"`
	// Env are the names of the agent's own environment variables that the program gets. It gets no others.
	Env []string `yaml:"env"`
	// WorkDir is the folder that the program starts in; empty for /.
	WorkDir string `yaml:"work_dir"`
	// Unconfined starts the program in no sandbox, so that it can read what is the agent's own.
	Unconfined bool `yaml:"unconfined"`
	// URL is the address of a server over streamable HTTP. It answers itself: redirects are refused.
	URL string `yaml:"url"`
	// Headers go with every request, HeaderFiles too: their values stand in files, which are read at each new connection.
	Headers     map[string]string `yaml:"headers"`
	HeaderFiles map[string]string `yaml:"header_files"`
	// Tools are the names of the tools that may be used, as the server says them; All for all of them.
	Tools []string `yaml:"tools"`
	// Namespaces are those that may use it; empty for all.
	Namespaces []string `yaml:"namespaces"`
	// Timeout is how long one call may take; 0 is DefaultTimeout.
	Timeout time.Duration `yaml:"timeout"`
}

// id is what a definition is pinned with beside its own words (field/review-agent.md S18).
func (c Config) id() string {
	if c.URL != "" {
		return c.Name + " " + c.URL
	}
	return fmt.Sprintf("%s %q", c.Name, c.Command)
}

func (c Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// for says whether a namespace may use the server.
func (c Config) serves(ns string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, ns)
}

// takes says whether a tool may be used.
func (c Config) takes(name string) bool {
	return slices.Contains(c.Tools, name) || slices.Contains(c.Tools, All)
}

// Check finds settings that cannot be.
func (s Settings) Check(p *config.Problems) {
	if len(s.Servers) > MaxServers {
		p.Add("servers", "there are %d servers, at most %d are taken", len(s.Servers), MaxServers)
	}
	seen := map[string]int{}
	for i, c := range s.Servers {
		k := checker{p, fmt.Sprintf("servers[%d].", i)}
		if c.Name != "" {
			k.at = fmt.Sprintf("servers[%d, %s].", i, tool.PlainLine(c.Name, tool.MaxServer))
		}
		// Names that differ in case alone are one, as a person reads them.
		first, twice := seen[strings.ToLower(c.Name)]
		k.no(twice, "name", "stands twice: server %d has it too, and nobody could tell their tools apart", first)
		seen[strings.ToLower(c.Name)] = i
		c.check(k)
	}
}

// checker notes problems of one server.
type checker struct {
	p  *config.Problems
	at string
}

func (k checker) no(wrong bool, key, format string, args ...any) {
	if wrong {
		k.p.Add(k.at+key, format, args...)
	}
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

func (c Config) check(k checker) {
	k.no(c.Name == "" || len(c.Name) > tool.MaxServer || strings.Trim(c.Name, nameLetters) != "", "name",
		"must be 1 to %d letters, digits, _ or -, is %q", tool.MaxServer, c.Name)
	k.no(len(c.Command) == 0 && c.URL == "", "command", "must be a program and its arguments, or url an address")
	k.no(len(c.Command) > 0 && c.URL != "", "url", "must not stand beside command: a server is a program or an address")
	k.no(c.Timeout < 0 || c.Timeout > tool.MaxTimeout, "timeout", "must be from 0 (for %s) to %s, is %s", DefaultTimeout, tool.MaxTimeout, c.Timeout)
	k.no(len(c.Tools) == 0, "tools", "must name the tools that may be used, or %q for all that the server has", All)
	k.list("tools", c.Tools)
	k.list("namespaces", c.Namespaces)
	for _, n := range c.Namespaces {
		k.no(!namespace.Valid(n), "namespaces", "%q is no namespace: 1 to 63 of a to z, 0 to 9 and -", n)
	}
	if c.URL != "" {
		c.checkURL(k)
	} else {
		c.checkCommand(k)
	}
}

func (k checker) list(key string, list []string) {
	k.no(len(list) > maxList, key, "has %d entries, at most %d are taken", len(list), maxList)
	for i, name := range list {
		k.no(name == "" || slices.Contains(list[:i], name), key, "%q must be a name that stands once", name)
	}
}

func (c Config) checkCommand(k checker) {
	k.no(len(c.Headers)+len(c.HeaderFiles) > 0, "headers", "are for a server with url")
	if len(c.Command) == 0 {
		return
	}
	k.no(!filepath.IsAbs(c.Command[0]), "command", "must begin with the absolute path of a program, is %q: nothing is looked for in PATH", c.Command[0])
	k.no(len(c.Command) > maxList, "command", "has %d arguments, at most %d are taken", len(c.Command), maxList)
	k.no(slices.ContainsFunc(c.Command, func(a string) bool { return strings.Contains(a, "\x00") }), "command", "must hold no zero bytes")
	k.list("env", c.Env)
	for _, name := range c.Env {
		_, set := os.LookupEnv(name)
		switch {
		case strings.HasPrefix(name, "TSUMUGI_"):
			k.no(true, "env", "%s is a setting of Tsumugi, which no other program gets", name)
		case strings.Contains(name, "="):
			k.no(true, "env", "%q must be the name of an environment variable, without a value", name)
		default:
			k.no(!set && name != "", "env", "the environment variable %s is not set", name)
		}
	}
	if c.WorkDir != "" {
		about, err := os.Stat(c.WorkDir)
		k.no(!filepath.IsAbs(c.WorkDir) || err != nil || !about.IsDir(), "work_dir", "must be the absolute path of a folder, is %q", c.WorkDir)
	}
}

func (c Config) checkURL(k checker) {
	k.no(len(c.Env) > 0 || c.WorkDir != "" || c.Unconfined, "env", "work_dir and unconfined are for a server with command")
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		k.no(true, "url", "must be an address such as https://tools.example.com/mcp")
		return
	}
	k.no(u.User != nil, "url", "must hold no name and password: put them into header_files, as authorization")
	names := map[string]bool{}
	for _, of := range []struct {
		key  string
		list map[string]string
	}{{"headers", c.Headers}, {"header_files", c.HeaderFiles}} {
		for name, value := range of.list {
			low := strings.ToLower(name)
			k.no(!headerName(low), of.key, "%q must be the name of a header that is not ours: not Host, Accept, Content-*, Mcp-* or about the connection", name)
			k.no(names[low], of.key, "%q stands twice", name)
			k.no(strings.TrimSpace(value) == "" || strings.ContainsFunc(value, control), of.key, "%q must have a value in one line", name)
			names[low] = true
		}
	}
	for name, file := range c.HeaderFiles {
		_, err := headerFile(file)
		k.no(err != nil, "header_files", "%q: %v", name, err)
	}
}

// ours are headers that the protocol itself sets.
var ours = []string{"host", "accept", "connection", "transfer-encoding", "upgrade", "te", "trailer", "expect", "last-event-id"}

func headerName(low string) bool {
	return low != "" && strings.Trim(low, nameLetters) == "" && !slices.Contains(ours, low) &&
		!strings.HasPrefix(low, "mcp-") && !strings.HasPrefix(low, "content-") && !strings.HasPrefix(low, "proxy-")
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// maxHeader is the size of the file of a header.
const maxHeader = 16 << 10

// headerFile reads the value of a header.
func headerFile(name string) (string, error) {
	about, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !about.Mode().IsRegular() || about.Size() > maxHeader {
		return "", fmt.Errorf("%s must be a file of at most %d bytes", name, maxHeader)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(text))
	if value == "" || strings.ContainsFunc(value, control) {
		return "", fmt.Errorf("%s must hold a value in one line", name)
	}
	return value, nil
}
