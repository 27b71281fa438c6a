package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	// The zones of time.LoadLocation, where the machine has none.
	_ "time/tzdata"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Config is a namespace's config.yaml (seed 004, 6.3; docs/flowstore-files.md). Nobody but a person changes the file.
type Config struct {
	// Version is the format of the tree, 1 or 1.x.
	Version string
	// Created and Updated are what the file says of itself; zero where it says nothing. Nothing depends on them.
	Created, Updated time.Time
	Settings         Settings
	// Foreign are the keys that are there and belong to others than flowstore: those of model servers, and of whoever
	// builds summaries. Their values are not looked at here.
	Foreign []string
	// Warnings say what is not known and has no effect, and what is of no consequence and cannot be read.
	Warnings []string
}

// Settings are the keys of config.yaml that flowstore goes by.
type Settings struct {
	// MaxFilesPerFolder is the step in which folders grow.
	MaxFilesPerFolder Step
	// Timezone is taken for times in the files, and in a query, that have no zone (field/flowstore.md row 11).
	Timezone *time.Location
	// Metadata says whether metadata/tags.yaml and metadata/index.yaml are written.
	Metadata bool
}

// DefaultSettings are those of a config.yaml that has none.
func DefaultSettings() Settings {
	return Settings{MaxFilesPerFolder: DefaultStep, Timezone: time.UTC, Metadata: true}
}

// settingsKeys are the settings as the file has them.
type settingsKeys struct {
	MaxFilesPerFolder int    `yaml:"max_files_per_folder"`
	Timezone          string `yaml:"timezone"`
	Metadata          bool   `yaml:"metadata"`
}

var (
	rootKeys     = []string{"version", "created", "updated", "settings", "providers"}
	ownSettings  = []string{"max_files_per_folder", "timezone", "metadata"}
	foreignKeys  = []string{"default_llm_provider", "default_model", "summary_token_limit"}
	providersKey = "providers"
)

// DecodeConfig reads a namespace's config.yaml. The error is an *Error that names every problem; of a file of a newer
// program it names the version alone, as the rest may mean something else there.
func DecodeConfig(data []byte) (Config, error) {
	text, err := body(data)
	if err != nil {
		return Config{}, err
	}
	r, err := readFlow(text)
	if err != nil {
		return Config{}, err
	}
	c := Config{Settings: DefaultSettings()}
	if c.Version, err = checkVersion(r.keys["version"]); err != nil {
		return Config{}, err
	}
	wrong := r.problems // of two with one key a person must say which is meant
	r.problems = nil
	c.Created, c.Updated = r.time("created"), r.time("updated")
	c.Warnings = slices.Concat(r.problems, unknown("", r.keys, rootKeys))
	if r.keys[providersKey] != nil {
		c.Foreign = append(c.Foreign, providersKey)
	}
	if wrong = append(wrong, c.settings(r.keys["settings"])...); len(wrong) > 0 {
		return Config{}, unreadable("%s", strings.Join(first(wrong), "; "))
	}
	return c, nil
}

// CheckConfig says whether a namespace's config.yaml can be gone by; as DecodeConfig.
func CheckConfig(data []byte) error {
	_, err := DecodeConfig(data)
	return err
}

func checkVersion(n *yamlx.Node) (string, error) {
	switch {
	case n == nil:
		return "", unreadable("has no version; this program reads version: %q", version)
	case n.Value != "1" && !strings.HasPrefix(n.Value, "1."):
		return "", unreadable("is of version %q; this program reads version %q: use a newer program", cut(n.Value), version)
	}
	return n.Value, nil
}

// unknown tells of the keys that have no effect. They stay in the file: nobody rewrites it.
func unknown(path string, keys map[string]*yamlx.Node, known []string) (warnings []string) {
	for key, n := range keys {
		if slices.Contains(known, key) {
			continue
		}
		text := fmt.Sprintf("%s: line %d: is not known and has no effect", path+cut(key), n.Line)
		if meant := yamlx.Closest(key, known); meant != "" {
			text += "; did you mean " + path + meant + "?"
		}
		warnings = append(warnings, text)
	}
	slices.Sort(warnings)
	return first(warnings)
}

// settings reads what stands under that key, and says what is wrong with it.
func (c *Config) settings(n *yamlx.Node) (wrong []string) {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yamlx.Mapping {
		return []string{fmt.Sprintf("settings: line %d: must be a mapping of keys to values", n.Line)}
	}
	r := &flowReader{}
	keys := r.mapping("settings", n)
	c.Warnings = append(c.Warnings, unknown("settings.", keys, slices.Concat(ownSettings, foreignKeys))...)
	for _, key := range foreignKeys {
		if keys[key] != nil {
			c.Foreign = append(c.Foreign, "settings."+key)
		}
	}
	add := func(key string, n *yamlx.Node, err any) {
		r.problem(n, "settings."+key, "%s", err)
	}
	s := settingsKeys{MaxFilesPerFolder: int(DefaultStep), Timezone: time.UTC.String(), Metadata: true}
	var problems *yamlx.Error
	if errors.As(yamlx.DecodeNode(only(keys, ownSettings), &s), &problems) {
		for _, p := range problems.Problems {
			add(p.Path, p.Node, p.Message)
		}
	}
	c.Settings.Metadata = s.Metadata
	var err error
	if c.Settings.MaxFilesPerFolder, err = NewStep(s.MaxFilesPerFolder); err != nil {
		add("max_files_per_folder", keys["max_files_per_folder"], err)
	}
	if c.Settings.Timezone, err = parseZone(s.Timezone); err != nil {
		add("timezone", keys["timezone"], err)
	}
	return r.problems
}

// only gives a mapping of some of the keys.
func only(keys map[string]*yamlx.Node, names []string) *yamlx.Node {
	n := &yamlx.Node{Kind: yamlx.Mapping, Tag: "!!map"}
	for _, name := range names {
		if keys[name] != nil {
			n.Content = append(n.Content, scalar("!!str", name), keys[name])
		}
	}
	return n
}

// parseZone reads the name of a time zone, or an offset such as +09:00, which no list of zones is needed for.
func parseZone(name string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", name); err == nil {
		if _, offset := t.Zone(); offset != 0 {
			return time.FixedZone("", offset), nil
		}
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, unreadable("%q is no time zone that is known here, such as Asia/Tokyo, UTC or +09:00", cut(name))
	}
	return zone, nil
}
