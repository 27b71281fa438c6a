package sysprompt

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/zone"
)

// The bounds of a request (field/systemprompt-rules.md 0).
const (
	maxTools    = 512
	maxSkills   = 2000
	maxSections = 64
	maxSection  = 50_000 // characters
	maxFiles    = 64
	// MaxFile is the most of a file, in bytes.
	MaxFile     = 4 << 20
	maxText     = 2 << 20 // of a prompt, in bytes
	maxIdentity = 500     // characters
	maxLine     = 4096    // bytes of what is printed as a line
	maxSchema   = 1 << 20 // bytes of the schema of a tool
	maxExtra    = 64
	maxRoots    = 16
)

var (
	toolName  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	sectionID = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
)

// checker gathers what is wrong with a request.
type checker struct {
	Request
	wrong []Violation
}

func (c *checker) add(field, format string, args ...any) {
	c.wrong = append(c.wrong, Violation{field, fmt.Sprintf(format, args...)})
}

// Check finds what is wrong with a request to which Defaults were applied.
func Check(r Request) []Violation {
	c := &checker{Request: r}
	c.words()
	c.tools()
	c.skills()
	c.sections()
	c.choices()
	c.files()
	c.times()
	if _, ok := tokens.Estimate(r.Counter); !ok || r.Counter != "" && r.Backend != "" {
		c.add("counter", "must be %s or %s, and only without a backend", tokens.NameEst1, tokens.NameChars4)
	}
	locale, err := template.Locale(r.Locale)
	if err != nil {
		c.add("locale", "%v", err)
		locale = template.Japanese
	}
	for _, w := range template.CheckOwn(locale, r.Texts) {
		c.add("texts["+strconv.Quote(w.ID)+"]", "%s", w.Problem)
	}
	return c.wrong
}

func (c *checker) words() {
	if body := passage.Body(c.Identity).Text; c.Identity != "" {
		switch n := characters(body); {
		case strings.Contains(body, "\n"):
			c.add("identity", "must be one line; put the rest into a section of class IDENTITY")
		case passage.Line(body) == "":
			c.add("identity", "must not be blank; leave it out for the default text")
		case n > maxIdentity:
			c.add("identity", "must have at most %d characters, and has %d", maxIdentity, n)
		}
	}
	if c.Agent && c.Mode == None {
		c.add("mode", "must not be NONE with an agent, whose base is in every prompt")
	}
	lines := map[string]string{
		"product": c.Product, "workspace": c.Workspace, "reader_tool": c.ReaderTool, "reasoning.level": c.Reasoning.Level, "reasoning.toggle": c.Reasoning.Toggle,
		"runtime.host": c.Runtime.Host, "runtime.os": c.Runtime.OS, "runtime.node": c.Runtime.Node, "runtime.model": c.Runtime.Model,
		"runtime.repo_root": c.Runtime.RepoRoot, "runtime.thinking": c.Runtime.Thinking,
	}
	if c.Sandbox != nil {
		lines["sandbox.runtime"], lines["sandbox.path"] = c.Sandbox.Runtime, c.Sandbox.Path
	}
	for _, key := range slices.Sorted(maps.Keys(c.Runtime.Extra)) {
		field := "runtime.extra[" + strconv.Quote(key) + "]"
		lines[field] = key + c.Runtime.Extra[key]
		if passage.Line(key) == "" {
			c.add(field, "must have a key that is not blank")
		}
	}
	for _, field := range slices.Sorted(maps.Keys(lines)) {
		if n := len(lines[field]); n > maxLine {
			c.add(field, "must have at most %d bytes, and has %d", maxLine, n)
		}
	}
	c.most("runtime.extra", len(c.Runtime.Extra), maxExtra)
}

func (c *checker) most(field string, n, most int) {
	if n > most {
		c.add(field, "must have at most %d entries, and has %d", most, n)
	}
}

func (c *checker) tools() {
	c.most("tools", len(c.Tools), maxTools)
	first := map[string]int{}
	for i, t := range c.Tools {
		field := fmt.Sprintf("tools[%d]", i)
		if !toolName.MatchString(t.Name) {
			c.add(field+".name", "must be 1 to 64 of letters, digits, `_`, `.` and `-`, and is %q", shown(t.Name))
		}
		if len(t.Schema) > maxSchema {
			c.add(field+".schema_json", "must have at most %d bytes, and has %d", maxSchema, len(t.Schema))
		}
		lower := strings.ToLower(t.Name)
		if j, again := first[lower]; !again {
			first[lower] = i
		} else if c.Tools[j] != t {
			c.add(field, "has the name of tools[%d] (case does not count), and is not equal to it", j)
		}
	}
}

func (c *checker) skills() {
	c.most("skills", len(c.Skills), maxSkills)
	c.most("skill_roots", len(c.SkillRoots), maxRoots)
	c.skillList("skills", "", c.Skills)
	if c.Snapshot != nil {
		c.skillList("snapshot.skills", ".skill", c.Snapshot.Skills)
		for i, n := range c.Snapshot.Notes {
			if !slices.Contains([]string{Refused, Guessed, NotEligible}, n.What) {
				c.add(fmt.Sprintf("snapshot.skill_notes[%d].what", i), "must be %s, %s or %s, and is %q", Refused, Guessed, NotEligible, shown(n.What))
			}
		}
	}
	for i, root := range c.SkillRoots {
		field := fmt.Sprintf("skill_roots[%d].mount", i)
		if len(root.Mount) > maxLine {
			c.add(field, "must have at most %d bytes, and has %d", maxLine, len(root.Mount))
		}
		if err := checkMount(root.Mount); err != nil {
			c.add(field, "%v", err)
		}
	}
	if c.SkillsMax < 0 {
		c.add("skills_max_chars", "must not be negative, and is %d", c.SkillsMax)
	}
}

// skillList checks skills, whose fields stand behind a path in an entry of a list.
func (c *checker) skillList(list, path string, skills []Skill) {
	for i, s := range skills {
		field := fmt.Sprintf("%s[%d]%s.", list, i, path)
		for _, f := range []struct{ name, text string }{{"name", passage.Line(s.Name)}, {"description", passage.Line(s.Description)}, {"location", passage.Name(s.Location)}} {
			if f.text == "" {
				c.add(field+f.name, "is required")
			}
		}
		for _, f := range []struct{ name, text string }{{"name", s.Name}, {"location", s.Location}} {
			if len(f.text) > maxLine {
				c.add(field+f.name, "must have at most %d bytes, and has %d", maxLine, len(f.text))
			}
		}
	}
}

func (c *checker) sections() {
	c.most("sections", len(c.Sections)-c.ofSettings, maxSections)
	seen := map[string]int{}
	for i, s := range c.Sections {
		field := fmt.Sprintf("sections[%d]", i)
		if j, again := seen[s.ID]; again {
			c.add(field+".id", "is that of sections[%d], too", j)
			continue
		}
		seen[s.ID] = i
		if n := characters(s.Text); n > maxSection {
			c.add(field+".text", "must have at most %d characters, and has %d", maxSection, n)
		}
		if len(s.Heading) > maxLine {
			c.add(field+".heading", "must have at most %d bytes, and has %d", maxLine, len(s.Heading))
		}
		at := slices.IndexFunc(table(), func(r row) bool { return r.id != "" && r.id == s.ID })
		if at < 0 && slices.Contains(s.Modes, None) {
			c.add(field+".modes", "must not have NONE, in which identity alone is printed")
		}
		switch {
		case at >= 0:
			c.builtIn(field, s, table()[at])
		case !sectionID.MatchString(s.ID):
			c.add(field+".id", "must be a letter and up to 31 of a-z, 0-9, `_` and `-`, and is %q", shown(s.ID))
		}
	}
}

// builtIn checks a section that has a row in the table.
func (c *checker) builtIn(field string, s Custom, r row) {
	if r.by != callers && r.by != replaced {
		c.add(field+".id", "%q is made by the service, and cannot be sent", s.ID)
		return
	}
	if s.Class != Unset && s.Class != r.class {
		c.add(field+".class", "%q has a class of its own; leave this out", s.ID)
	}
	if len(s.Modes) > 0 {
		c.add(field+".modes", "%q has modes of its own; leave this out, and use include or exclude", s.ID)
	}
	if s.Order != 0 {
		c.add(field+".order", "%q has a place of its own; leave this out", s.ID)
	}
}

// choices checks include and exclude.
func (c *checker) choices() {
	known := map[string]bool{}
	for _, r := range table() {
		known[r.id] = r.id != ""
	}
	for _, s := range c.Sections {
		known[s.ID] = true
	}
	for _, choice := range []struct {
		field string
		ids   []string
	}{{"include", c.Include}, {"exclude", c.Exclude}} {
		c.most(choice.field, len(choice.ids), 2*maxSections)
		for i, id := range choice.ids {
			if !known[id] {
				c.add(fmt.Sprintf("%s[%d]", choice.field, i), "there is no section %q; there are %s", shown(id), strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(id string) bool { return !known[id] }), ", "))
			}
		}
	}
	for i, id := range c.Exclude {
		if id == idIdentity || c.Agent && (id == idBase || id == idMain) {
			c.add(fmt.Sprintf("exclude[%d]", i), "%s is never left out", id)
		}
		if slices.Contains(c.Include, id) {
			c.add(fmt.Sprintf("exclude[%d]", i), "%q is in include, too", id)
		}
	}
}

func (c *checker) files() {
	b := c.Bootstrap
	c.fileList("files", "", c.Files)
	if c.Snapshot != nil {
		c.fileList("snapshot.files", ".file", c.Snapshot.Files)
		for i, f := range c.Snapshot.Files {
			if !slices.Contains([]FileState{"", FileOK, FileMissing, FileBlocked, FileUnreadable, FileTooLarge}, f.State) {
				c.add(fmt.Sprintf("snapshot.files[%d].state", i), "must be what was found when it was read, and not %s", f.State)
			}
			if len(f.Same) > maxLine {
				c.add(fmt.Sprintf("snapshot.files[%d].same", i), "must have at most %d bytes, and has %d", maxLine, len(f.Same))
			}
		}
	}
	if b.List != nil {
		c.most("bootstrap.list.names", len(*b.List), maxFiles)
		for i, name := range *b.List {
			if passage.Name(name) == "" || len(name) > maxLine || b.Root != "" && !inside(name) {
				c.add(fmt.Sprintf("bootstrap.list.names[%d]", i), "must be the path of a file inside the folder, and is %q", shown(name))
			}
			if slices.Index(*b.List, name) != i {
				c.add(fmt.Sprintf("bootstrap.list.names[%d]", i), "is named twice")
			}
		}
	}
	if b.Root != "" && len(c.Files) > 0 {
		c.add("files", "must be empty where bootstrap.root names a folder")
	}
	if b.Max < leastFile {
		c.add("bootstrap.max_chars", "must be at least %d, and is %d", leastFile, b.Max)
	}
	if b.TotalMax != nil && *b.TotalMax < 0 {
		c.add("bootstrap.total_max_chars", "must not be negative, and is %d", *b.TotalMax)
	}
	if c.MinCacheTokens < 0 {
		c.add("min_cache_tokens", "must not be negative, and is %d", c.MinCacheTokens)
	}
}

// fileList checks files, whose fields stand behind a path in an entry of a list.
func (c *checker) fileList(list, path string, files []File) {
	c.most(list, len(files), maxFiles)
	seen := map[string]int{}
	for i, f := range files {
		field := fmt.Sprintf("%s[%d]%s", list, i, path)
		if passage.Name(f.Name) == "" || len(f.Name) > maxLine {
			c.add(field+".name", "must have from 1 to %d bytes", maxLine)
		}
		if len(f.Content) > MaxFile {
			c.add(field+".content", "must have at most %d bytes, and has %d", MaxFile, len(f.Content))
		}
		if j, again := seen[f.Name]; again {
			c.add(field+".name", "is that of %s[%d], too", list, j)
		}
		seen[f.Name] = i
	}
}

// inside says that a path stays in its folder: it is relative, clean and has no `..`.
func inside(name string) bool {
	return name != "" && !path.IsAbs(name) && path.Clean(name) == name && name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsAny(name, "\\\x00")
}

func (c *checker) times() {
	if c.Zone != "" {
		if _, err := zone.Load(c.Zone); err != nil {
			c.add("time.zone", "must be a name of the IANA database, such as Asia/Tokyo, and is %q; a server has no local time", shown(c.Zone))
		}
	}
	if !slices.Contains([]string{"", "12", "24", "auto"}, c.TimeFormat) {
		c.add("time.format", "must be 12, 24 or auto, and is %q", shown(c.TimeFormat))
	}
	if (c.IncludeTime || c.IncludeDate) && c.Now.IsZero() {
		c.add("now", "is required with include_time and include_date: the service has no clock")
	}
}

// twelve are the regions where people count hours to 12 (CLDR 48, timeData).
var twelve = strings.Fields(`AE AG AL AR AS AU BB BD BH BM BN BO BS BT CA CL CO CR CU CY DJ DM DO DZ EC EG EH ER ET FJ FM GD GH GM GR GT GU GY HK HN
	IN IQ JM JO KH KI KN KP KR KW KY LB LC LR LS LY MH MO MP MR MW MX MY NA NH NI NZ OM PA PE PG PH PK PR PS PW PY QA SA SB SD SG SL SO SS SV SY SZ
	TC TD TN TO TT TW UM US UY VC VE VG VI VU WS YD YE ZM`)

// hours says how people count them who speak a language: 12 or 24.
func hours(format, locale string) string {
	if format == "12" || format == "24" {
		return format
	}
	tag, err := language.Parse(cmp.Or(locale, template.Japanese))
	if err != nil {
		return "24"
	}
	switch tag.TypeForKey("hc") {
	case "h11", "h12":
		return "12"
	case "h23", "h24":
		return "24"
	}
	base, _ := tag.Base()
	region, _ := tag.Region()
	if id := base.String() + "-" + region.String(); slices.Contains(twelve, region.String()) && id != "fr-CA" && id != "ku-SY" {
		return "12"
	}
	return "24"
}

// shown is as much of a text as an error should show.
func shown(s string) string { return passage.Cap(s, 80) }
