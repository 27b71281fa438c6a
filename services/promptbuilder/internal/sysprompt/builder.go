package sysprompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/zone"
)

// Defaults stand in for what a request leaves open.
type Defaults struct {
	Workspace, Zone, TimeFormat string
	// MaxChars is the most of a file.
	MaxChars int
	// Sections are in every prompt; one of a request with the same id stands instead.
	Sections []Custom
}

// CheckDefaults finds what is wrong with defaults, by the keys of the prompts file.
func CheckDefaults(d Defaults) []Violation {
	names := map[string]string{
		"time.zone": "system.defaults.user_timezone", "time.format": "system.defaults.time_format", "workspace": "system.defaults.workspace",
		"bootstrap.max_chars": "system.defaults.bootstrap_max_chars",
	}
	total := defaultTotal
	r := Request{Workspace: d.Workspace, Zone: d.Zone, TimeFormat: d.TimeFormat, Sections: d.Sections, Bootstrap: Bootstrap{Max: cmp.Or(d.MaxChars, DefaultMaxChars), TotalMax: &total}}
	wrong := Check(r)
	for i, v := range wrong {
		wrong[i].Field = cmp.Or(names[v.Field], "system."+v.Field)
	}
	return wrong
}

// What holds where neither request nor settings say otherwise (field/systemprompt-rules.md 1.3, 1.4).
const (
	DefaultMaxChars  = 20_000
	defaultTotal     = 150_000
	defaultSkillsMax = 30_000
	defaultReader    = "read"
)

// Folder is a folder of the settings.
type Folder struct {
	// Path is where it is here; Mount the path under which the agent's reader tool sees it.
	Path, Mount string
}

// Check finds what is wrong with a folder of the settings. Whether it is there is told when something is read from it.
func (f Folder) Check() error {
	if f.Path == "" {
		return errors.New("its path is missing")
	}
	if err := checkMount(f.Mount); err != nil {
		return fmt.Errorf("its mount %w", err)
	}
	return nil
}

// checkMount finds what is wrong with the path under which a reader tool sees a folder: a location that it does not take is worse than
// none (field/systemprompt-rules.md 1.4).
func checkMount(mount string) error {
	switch {
	case strings.HasPrefix(mount, "~"):
		return fmt.Errorf("must be a path that the reader tool takes, and is %q: ~ is another folder to each user", shown(mount))
	case !Printable(mount):
		return fmt.Errorf("must be a path that a prompt can print as it is, and is %q", shown(mount))
	}
	return nil
}

// Printable says that a path stands in a prompt as it is: nothing in it is cleaned away, such as the second of two blanks.
func Printable(path string) bool { return passage.Name(path) == path }

// Counters gives what counts tokens.
type Counters interface {
	// Counter gives that of a backend. The error is a *llm.UnknownBackendError, or says that the server does not answer.
	Counter(ctx context.Context, backend string) (tokens.Counter, error)
}

// Roots reads the folders of the settings.
type Roots interface {
	// Names gives the names of all, sorted.
	Names() []string
	// Trouble says why a root cannot be read; empty where it can.
	Trouble(root string) string
	// Files reads files, in the order of the names; State and Same say what was found.
	Files(root string, names []string) []File
	// Skills finds the skills below a root, in order of their paths, with what is wrong with others. Locations are paths below
	// the mount, or below that of the settings where it is empty.
	Skills(root SkillRoot, strict bool) ([]SkillFile, []SkillReport)
	// Digest is the SHA-256 of a file as it is now, in hex; empty where it cannot be read.
	Digest(root, path string) string
}

// SkillFile is a skill of a folder and what it asks for.
type SkillFile struct {
	Skill
	Needs Needs
}

// Needs are what a skill asks for: one of the systems, and all of the others.
type Needs struct{ OS, Bins, Env, Config []string }

// Builder makes system prompts. Safe for concurrent use; it keeps nothing between calls.
type Builder struct {
	roots    Roots
	counters Counters
	defaults Defaults
}

// NewBuilder makes a Builder.
func NewBuilder(roots Roots, counters Counters, defaults Defaults) *Builder {
	return &Builder{roots, counters, defaults}
}

// Prepare puts the defaults into a request, and finds what is wrong with it.
func (b *Builder) Prepare(r Request) (Request, []Violation) {
	r.ReaderTool = cmp.Or(r.ReaderTool, defaultReader)
	r.SkillsMax = cmp.Or(r.SkillsMax, defaultSkillsMax)
	r.Workspace = cmp.Or(r.Workspace, b.defaults.Workspace)
	r.Zone = cmp.Or(r.Zone, b.defaults.Zone)
	if r.Zone != "" {
		r.TimeFormat = cmp.Or(r.TimeFormat, b.defaults.TimeFormat)
	}
	for _, s := range b.defaults.Sections {
		if !slices.ContainsFunc(r.Sections, func(c Custom) bool { return c.ID == s.ID }) {
			r.Sections = append(slices.Clip(r.Sections), s)
			r.ofSettings++
		}
	}
	r.Bootstrap.Max = cmp.Or(r.Bootstrap.Max, b.defaults.MaxChars, DefaultMaxChars)
	if r.Bootstrap.TotalMax == nil {
		total := defaultTotal
		r.Bootstrap.TotalMax = &total
	}
	wrong := append(Check(r), b.checkRoots(r)...)
	if r.Context != nil {
		own, found := b.prepareContext(r)
		r.Context, wrong = &own, append(wrong, found...)
	}
	return r, wrong
}

// prepareContext gives the context of a request what holds for the whole.
func (b *Builder) prepareContext(r Request) (nodecontext.Request, []Violation) {
	c := *r.Context
	var wrong []Violation
	if c.Backend+c.Counter+c.Locale != "" || len(c.Texts) > 0 {
		wrong = append(wrong, Violation{"context", "must have no backend, counter, locale or texts of its own: those of the request hold"})
	}
	c.Backend, c.Counter, c.Locale, c.Texts = "", "", "", nil
	for _, v := range nodecontext.Check(c) {
		wrong = append(wrong, Violation{"context." + v.Field, v.Description})
	}
	c.Locale, c.Texts = r.Locale, r.Texts
	return c, wrong
}

// Counter gives what counts tokens: a backend, or else the estimate of a name that Check finds nothing wrong with.
func (b *Builder) Counter(ctx context.Context, backend, estimate string) (tokens.Counter, error) {
	if backend == "" {
		c, _ := tokens.Estimate(estimate)
		return c, nil
	}
	return b.counters.Counter(ctx, backend)
}

// Draft reads the folders of a request in which Prepare found nothing wrong, and fits its context, if it is printed. Errors: of ctx and the counter,
// and *nodecontext.OverflowError.
func (b *Builder) Draft(ctx context.Context, r Request, counter tokens.Counter) (*Draft, error) {
	locale, _ := template.Locale(r.Locale) // Checked.
	d := &Draft{Request: r, texts: template.New(locale, r.Texts), hours: hours(r.TimeFormat, r.Locale)}
	if r.Zone != "" {
		d.zone, _ = zone.Load(r.Zone) // Checked.
	}
	d.takeTools(r.Tools)
	d.ownTexts(locale)
	if r.Mode == None && len(r.Include)+len(r.Exclude) > 0 {
		d.tell("none_ignores", "", "include and exclude change nothing in mode NONE")
	}
	if err := d.read(ctx, b.roots); err != nil {
		return nil, err
	}
	if r.Context == nil || !d.prints(idContext) {
		return d, nil
	}
	var err error
	d.Nodes, err = nodecontext.Fit(ctx, *r.Context, counter)
	return d, err
}

func (d *Draft) tell(code, section, format string, args ...any) {
	d.diagnostics = append(d.diagnostics, Diagnostic{Code: code, Section: section, Message: fmt.Sprintf(format, args...)})
}

// Build makes the prompt of a request in which Prepare found nothing wrong. Errors: of ctx and the counter, *TooLargeError, and
// *nodecontext.OverflowError.
func (b *Builder) Build(ctx context.Context, r Request) (Prompt, error) {
	counter, err := b.Counter(ctx, r.Backend, r.Counter)
	if err != nil {
		return Prompt{}, err
	}
	d, err := b.Draft(ctx, r, counter)
	if err != nil {
		return Prompt{}, err
	}
	return d.Report(ctx, d.Compose(nil), counter)
}

// TooLargeError is a text over its bound.
type TooLargeError struct {
	Bytes int
	// Field is that of the request that has most of the text, and Share how many bytes of it.
	Field string
	Share int
}

// Error says what would be right.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the prompt has %d bytes, and must have at most %d: send fewer or smaller texts", e.Bytes, maxText)
}

// tooLarge says which field of the request has most of a text over its bound.
func (d *Draft) tooLarge(p Prompt) *TooLargeError {
	e := &TooLargeError{Bytes: len(p.Text)}
	made := map[string]string{idFiles: "bootstrap.total_max_chars", idChanging: "bootstrap.total_max_chars", idSkills: "skills_max_chars", idContext: "context.max_tokens", idTooling: "tools"}
	sizes := map[string]int{}
	for _, s := range p.Sections {
		field := cmp.Or(made[s.ID], "texts")
		if slices.ContainsFunc(d.Sections, func(c Custom) bool { return c.ID == s.ID }) {
			field = "sections"
		}
		if sizes[field] += s.End - s.Start; sizes[field] > e.Share {
			e.Field, e.Share = field, sizes[field]
		}
	}
	return e
}

// Report tells everything about a prompt that Compose made, which the lint may make anew.
func (d *Draft) Report(ctx context.Context, p Prompt, counter tokens.Counter) (Prompt, error) {
	if len(p.Text) > maxText {
		return Prompt{}, d.tooLarge(p)
	}
	var findings []Diagnostic
	if d.Lint != LintOff {
		findings = lint(p)
	}
	if d.Lint == LintMove && d.move(p) {
		before := p
		p = d.Compose(d.given)
		follow(findings, before, p)
	}
	p.Diagnostics = append(append(p.Diagnostics, d.diagnostics...), findings...)
	p.Diagnostics = append(p.Diagnostics, d.cleanings(p)...)
	for _, s := range d.skillReports {
		p.Diagnostics = append(p.Diagnostics, Diagnostic{Code: "skill_" + s.What, Section: idSkills, Part: s.Name, Message: s.Why})
	}
	for _, f := range d.files.all {
		p.Files = append(p.Files, f.report)
	}
	p.Forgeable = d.Bootstrap.Unframed && slices.ContainsFunc(p.Sections, func(s Section) bool { return s.ID == idFiles || s.ID == idChanging })
	p.Stale, p.Snapshot = d.stale, d.snapshot()
	if d.Previous != nil {
		p.Diff = compare(p, *d.Previous)
	}
	if err := p.count(ctx, counter); err != nil {
		return Prompt{}, err
	}
	if d.Nodes != nil {
		c, err := d.Nodes.Context(ctx, counter)
		if err != nil {
			return Prompt{}, err
		}
		p.Context = &c
	}
	p.Counts, p.Sent = counter.Spent()
	if d.MinCacheTokens > 0 && p.Cache.Tokens < d.MinCacheTokens {
		p.Diagnostics = append(p.Diagnostics, Diagnostic{Code: "below_cache_minimum", Message: fmt.Sprintf(
			"the part above the cache boundary has %d tokens, and %d are the least that is kept", p.Cache.Tokens, d.MinCacheTokens)})
	}
	return p, nil
}

// count counts a prompt: each section alone, the text up to each boundary, and the whole.
func (p *Prompt) count(ctx context.Context, counter tokens.Counter) error {
	p.Counter, p.Exact = counter.Name(), counter.Exact()
	for i, s := range p.Sections {
		n, err := counter.Count(ctx, p.Text[s.Start:s.End])
		if err != nil {
			return err
		}
		p.Sections[i].Tokens = n
	}
	var err error
	if p.Cache.Tokens, err = p.upTo(ctx, counter, p.Cache.Byte); err != nil {
		return err
	}
	if p.Session.Tokens, err = p.upTo(ctx, counter, p.Session.Byte); err != nil {
		return err
	}
	p.Tokens, err = p.Count(ctx, counter)
	return err
}

// Count counts the whole text, as Tokens of a prompt are counted.
func (p *Prompt) Count(ctx context.Context, counter tokens.Counter) (int, error) {
	return p.upTo(ctx, counter, len(p.Text))
}

// upTo counts the text up to the end of a section. What stands above the cache boundary is counted at once and remembered; of
// what follows each section is counted with the blank line before it, so that a section that did not change is not counted again.
func (p *Prompt) upTo(ctx context.Context, counter tokens.Counter, end int) (int, error) {
	if !counter.Exact() {
		return counter.Count(ctx, p.Text[:end])
	}
	total, at := 0, 0
	for _, s := range p.Sections {
		if s.End > end {
			break
		}
		if s.End < p.Cache.Byte {
			continue
		}
		n, err := counter.Count(ctx, p.Text[at:s.End])
		if err != nil {
			return 0, err
		}
		total += n
		at = s.End
	}
	return total, nil
}

func builtIn(id string) bool {
	for _, r := range table() {
		if r.id == id {
			return true
		}
	}
	return false
}
