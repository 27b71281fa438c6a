package execchild

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// Bounds of the settings.
const (
	maxName  = 64
	maxPaths = 256
	maxValue = 32 << 10 // bytes
	maxCount = 1 << 20
)

// Config are the settings of the tool exec. Without programs it is off.
type Config struct {
	// Programs are the absolute paths of what may be run, by the name that the model uses.
	Programs map[string]string `yaml:"programs" help:"programs that a model may ask to run: name and absolute path; empty: exec is off"`
	// Env are the variables that a program gets, beside TMPDIR; it gets none of ours.
	Env map[string]string `yaml:"env" help:"environment variables of programs, beside TMPDIR"`
	// ReadOnly are files and folders that programs may read and run, beside those of the system.
	ReadOnly []string `yaml:"read_only" help:"files and folders that programs may read, beside those of the system"`
	// AllowNetwork lets programs use the network, where no approver's secret can keep them from the ports of this machine.
	AllowNetwork bool          `yaml:"allow_network" help:"programs may use the network"`
	Timeout      time.Duration `yaml:"timeout" help:"how long a program may run"`
	Output       config.Size   `yaml:"output" help:"output of a program that the model is shown"`
	// Memory is the writable memory of one process, CPU its processor time, FileSize the size of a file that it writes, OpenFiles how many
	// it has open. Processes are those of a call, which Linux does not count for root.
	Memory    config.Size   `yaml:"memory" help:"writable memory of one process"`
	CPU       time.Duration `yaml:"cpu" help:"processor time of one process"`
	FileSize  config.Size   `yaml:"file_size" help:"largest file that a program may write"`
	OpenFiles int           `yaml:"open_files" help:"files that one process may have open"`
	Processes int           `yaml:"processes" help:"processes and threads of a program; not counted where the agent runs as root"`
}

// DefaultConfig is off, and has limits for builds and tests of a small project.
func DefaultConfig() Config {
	d := tool.ExecDefinition(false)
	return Config{
		Timeout: d.Timeout, Output: config.Size(d.Limit), Memory: 4 * config.GiB, CPU: 10 * time.Minute, FileSize: 256 * config.MiB,
		OpenFiles: 1024, Processes: 512,
	}
}

// On says that there is something to run.
func (c Config) On() bool { return len(c.Programs) > 0 }

// systemPaths are read and run by nearly every program, where they are there.
var systemPaths = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates", "/etc/pki",
}

// devices are written to as well.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

var (
	programName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Check finds settings that cannot be. Whether the files are there is New's to say, of each work folder.
func (c Config) Check(p *config.Problems) {
	c.checkPrograms(p)
	c.checkEnv(p)
	c.checkLimits(p)
	if len(c.ReadOnly) > maxPaths {
		p.Add("read_only", "must have at most %d entries, has %d", maxPaths, len(c.ReadOnly))
	}
	for i, path := range c.ReadOnly {
		if why := badPath(path); why != "" {
			p.Add(fmt.Sprintf("read_only[%d]", i), "%s", why)
		}
	}
}

func (c Config) checkPrograms(p *config.Problems) {
	if len(c.Programs) > maxPaths {
		p.Add("programs", "must have at most %d entries, has %d", maxPaths, len(c.Programs))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		if len(name) > maxName || !programName.MatchString(name) {
			p.Add("programs", "%q is no name of a program: at most %d letters, digits and . _ + -, such as go", name, maxName)
		}
		if why := badPath(c.Programs[name]); why != "" {
			p.Add("programs."+name, "%s", why)
		}
	}
}

func (c Config) checkEnv(p *config.Problems) {
	if len(c.Env) > maxPaths {
		p.Add("env", "must have at most %d entries, has %d", maxPaths, len(c.Env))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch value := c.Env[name]; {
		case len(name) > maxName || !variableName.MatchString(name):
			p.Add("env", "%q is no name of a variable: at most %d letters, digits and _, such as PATH", name, maxName)
		case name == temp:
			p.Add("env."+name, "cannot be set: it names a folder that is made for each program")
		case len(value) > maxValue || strings.ContainsRune(value, 0):
			p.Add("env."+name, "must have at most %d bytes, none of them zero", maxValue)
		}
	}
}

func (c Config) checkLimits(p *config.Problems) {
	for _, n := range []struct {
		key       string
		got       int64
		min, most int64
	}{
		{"output", int64(c.Output), int64(config.KiB), tool.MaxOutput},
		{"memory", int64(c.Memory), int64(16 * config.MiB), int64(1024 * config.GiB)},
		{"file_size", int64(c.FileSize), int64(config.KiB), int64(1024 * config.GiB)},
	} {
		if n.got < n.min || n.got > n.most {
			p.Add(n.key, "must be from %s to %s, is %s", config.Size(n.min), config.Size(n.most), config.Size(n.got))
		}
	}
	for _, n := range []struct {
		key string
		got int
		min int
	}{{"open_files", c.OpenFiles, 16}, {"processes", c.Processes, 1}} {
		if n.got < n.min || n.got > maxCount {
			p.Add(n.key, "must be from %d to %d, is %d", n.min, maxCount, n.got)
		}
	}
	if c.Timeout < time.Second || c.Timeout > tool.MaxTimeout {
		p.Add("timeout", "must be from 1s to %s, is %s", tool.MaxTimeout, c.Timeout)
	}
	if c.CPU < time.Second || c.CPU > 24*time.Hour {
		p.Add("cpu", "must be from 1s to 24h, is %s", c.CPU)
	}
}

// badPath says what is wrong with a path by its letters.
func badPath(path string) string {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Sprintf("must be an absolute path, such as /usr/bin/make, is %q", path)
	case filepath.Clean(path) != path:
		return fmt.Sprintf("must be written as %s", filepath.Clean(path))
	case path == "/":
		return "must not be the whole disk"
	case len(path) > maxValue || strings.ContainsRune(path, 0):
		return "is no path"
	}
	return ""
}

// apart finds what is not there, a program that lies in the work folder, where a session could replace it, and a readable folder in which
// something secret lies.
func apart(c Config, work string, secret []string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		path, err := filepath.EvalSymlinks(c.Programs[name])
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("exec.programs.%s: %w", name, err))
		case !runs(path):
			wrong = append(wrong, fmt.Errorf("exec.programs.%s: %s is no file that may be run", name, path))
		case within(work, path):
			wrong = append(wrong, fmt.Errorf("exec.programs.%s: %s lies in the work folder, where a session could replace it", name, path))
		}
	}
	for i, path := range c.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			wrong = append(wrong, fmt.Errorf("exec.read_only[%d]: %w", i, err))
		}
	}
	own := make([]string, len(secret))
	for i, s := range secret {
		own[i] = resolved(s)
	}
	for _, open := range slices.Concat(systemPaths, c.ReadOnly, []string{work}) {
		at := resolved(open)
		for i, s := range secret {
			if s != "" && within(at, own[i]) {
				wrong = append(wrong, fmt.Errorf("exec: %s lies in %s, which programs may read: what is this program's own must lie apart from it", s, open))
			}
		}
	}
	return errors.Join(wrong...)
}

func runs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// resolved is a path without links, as far as it is there.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		if there, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(there, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// within says that a path is in a folder or is the folder.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
