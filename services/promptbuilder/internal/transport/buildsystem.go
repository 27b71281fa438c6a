package transport

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// Systems makes system prompts.
type Systems interface {
	Prepare(r sysprompt.Request) (sysprompt.Request, []sysprompt.Violation)
	Build(ctx context.Context, r sysprompt.Request) (sysprompt.Prompt, error)
	Counter(ctx context.Context, backend, estimate string) (tokens.Counter, error)
}

// BuildSystem makes a composed system prompt.
func (s *Server) BuildSystem(ctx context.Context, req *promptbuilderv1.BuildSystemRequest) (*promptbuilderv1.BuildSystemResponse, error) {
	f := &apierr.Fields{}
	f.Required(req)
	r, found := s.systems.Prepare(toSystem(f, "", req))
	wrong(f, violations(found))
	if err := f.Err(); err != nil {
		return nil, err
	}
	p, err := s.systems.Build(ctx, r)
	if err != nil {
		return nil, systemFault(err, "")
	}
	return fromSystem(p), nil
}

func violations(found []sysprompt.Violation) []story.Violation {
	var all []story.Violation
	for _, v := range found {
		all = append(all, story.Violation(v))
	}
	return all
}

// chosen is a value of the domain, whose zero is the first value of the contract that is not open.
func chosen[T ~int](value protoreflect.Enum) T { return T(max(0, int(value.Number())-1)) }

// at names an entry of a list.
func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// toSystem reads a request, whose fields stand behind a path in it.
func toSystem(f *apierr.Fields, path string, req *promptbuilderv1.BuildSystemRequest) sysprompt.Request {
	known(f, path+"mode", req.GetMode())
	known(f, path+"lint", req.GetLint())
	r := sysprompt.Request{
		Backend: req.GetBackend(), Counter: req.GetCounter(),
		Mode: chosen[sysprompt.Mode](req.GetMode()), Lint: chosen[sysprompt.Lint](req.GetLint()),
		Locale: req.GetLocale(), Include: req.GetInclude(), Exclude: req.GetExclude(), Identity: req.GetIdentity(), Product: req.GetProduct(),
		ReaderTool: req.GetReaderTool(), SkillsMax: int(req.GetSkillsMaxChars()), Strict: req.GetStrict(), Workspace: req.GetWorkspace(),
		Zone: req.GetTime().GetZone(), TimeFormat: req.GetTime().GetFormat(), IncludeTime: req.GetIncludeTime(), IncludeDate: req.GetIncludeDate(),
		Reasoning: sysprompt.Reasoning{Level: req.GetReasoning().GetLevel(), Toggle: req.GetReasoning().GetToggle()},
		Runtime:   toRuntime(req.GetRuntime()), MinCacheTokens: int(req.GetMinCacheTokens()), ReturnSnapshot: req.GetReturnSnapshot(),
		Texts: req.GetTexts(), Tools: toTools(req.GetTools()), Bootstrap: toBootstrap(f, path, req.GetBootstrap()), Snapshot: toSnapshot(f, path, req.GetSnapshot()),
		Previous: toPrevious(req.GetPrevious()),
	}
	if c := req.GetContext(); c != nil {
		inner := toContext(f, path+"context.", c)
		inner.NoCurrent = !c.GetIncludeCurrent()
		r.Context = &inner
	}
	if now := req.GetNow(); now != nil {
		if err := now.CheckValid(); err != nil {
			f.Add(path+"now", "must be a time of the years 1 to 9999")
		}
		r.Now = now.AsTime()
	}
	if facts := req.GetFacts(); facts != nil {
		r.Facts = &sysprompt.Facts{OS: facts.GetOs(), Bins: facts.GetBins(), Env: facts.GetEnv(), Config: facts.GetConfig()}
	}
	if box := req.GetSandbox(); box != nil {
		r.Sandbox = &sysprompt.Sandbox{Runtime: box.GetRuntime(), Path: box.GetPath(), Elevated: box.GetElevated()}
	}
	for _, k := range req.GetSkills() {
		r.Skills = append(r.Skills, toSkill(k))
	}
	for _, root := range req.GetSkillRoots() {
		r.SkillRoots = append(r.SkillRoots, sysprompt.SkillRoot{Root: root.GetRoot(), Mount: root.GetMount(), Priority: int(root.GetPriority())})
	}
	for i, c := range req.GetSections() {
		r.Sections = append(r.Sections, toCustom(f, at(path+"sections", i), c))
	}
	for i, file := range req.GetFiles() {
		r.Files = append(r.Files, toFile(f, at(path+"files", i), file))
	}
	return r
}

func toTools(tools []*promptbuilderv1.Tool) []sysprompt.Tool {
	var all []sysprompt.Tool
	for _, t := range tools {
		all = append(all, sysprompt.Tool{Name: t.GetName(), Summary: t.GetSummary(), Schema: t.GetSchemaJson()})
	}
	return all
}

func toSkill(k *promptbuilderv1.Skill) sysprompt.Skill {
	return sysprompt.Skill{Name: k.GetName(), Description: k.GetDescription(), Location: k.GetLocation(), Priority: int(k.GetPriority())}
}

func toRuntime(r *promptbuilderv1.Runtime) sysprompt.Runtime {
	return sysprompt.Runtime{
		Host: r.GetHost(), OS: r.GetOs(), Node: r.GetNode(), Model: r.GetModel(), RepoRoot: r.GetRepoRoot(), Thinking: r.GetThinking(), Extra: r.GetExtra(),
	}
}

func toCustom(f *apierr.Fields, field string, c *promptbuilderv1.CustomSection) sysprompt.Custom {
	known(f, field+".class", c.GetClass())
	custom := sysprompt.Custom{
		ID: c.GetId(), Heading: c.GetHeading(), Text: c.GetText(), Class: sysprompt.Class(c.GetClass()), Order: int(c.GetOrder()), Untrusted: c.GetUntrusted(),
	}
	for i, m := range c.GetModes() {
		known(f, at(field+".modes", i), m)
		custom.Modes = append(custom.Modes, chosen[sysprompt.Mode](m))
	}
	return custom
}

func toFile(f *apierr.Fields, field string, file *promptbuilderv1.PromptFile) sysprompt.File {
	known(f, field+".class", file.GetClass())
	return sysprompt.File{Name: file.GetName(), Content: file.GetContent(), Class: sysprompt.Class(file.GetClass()), Priority: int(file.GetPriority())}
}

func toBootstrap(f *apierr.Fields, path string, b *promptbuilderv1.Bootstrap) sysprompt.Bootstrap {
	known(f, path+"bootstrap.cap_unit", b.GetCapUnit())
	known(f, path+"bootstrap.truncation", b.GetTruncation())
	out := sysprompt.Bootstrap{
		Root: b.GetRoot(), Max: int(b.GetMaxChars()), Truncation: chosen[sysprompt.Truncation](b.GetTruncation()),
		Unframed: b != nil && b.Frame != nil && !b.GetFrame(), SkipMissing: b != nil && b.MarkMissing != nil && !b.GetMarkMissing(),
	}
	if b.GetCapUnit() == promptbuilderv1.SizeUnit_SIZE_UNIT_BYTES {
		out.Unit = passage.Bytes
	}
	if b != nil {
		out.TotalMax = whole(b.TotalMaxChars)
	}
	if list := b.GetList(); list != nil {
		names := append([]string{}, list.GetNames()...)
		out.List = &names
	}
	return out
}

func toSnapshot(f *apierr.Fields, path string, s *promptbuilderv1.Snapshot) *sysprompt.Snapshot {
	if s == nil {
		return nil
	}
	out := &sysprompt.Snapshot{}
	for i, file := range s.GetFiles() {
		field := at(path+"snapshot.files", i)
		known(f, field+".state", file.GetState())
		read := toFile(f, field+".file", file.GetFile())
		read.Root, read.Same = file.GetRoot(), file.GetSame()
		if state := file.GetState(); state != 0 {
			read.State = sysprompt.FileState(word(state, "FILE_STATE_"))
		}
		out.Files = append(out.Files, read)
	}
	for _, k := range s.GetSkills() {
		skill := toSkill(k.GetSkill())
		skill.Root, skill.Path, skill.Digest = k.GetRoot(), k.GetPath(), k.GetSha256()
		out.Skills = append(out.Skills, skill)
	}
	for _, n := range s.GetSkillNotes() {
		out.Notes = append(out.Notes, sysprompt.SkillReport{Name: n.GetName(), What: n.GetWhat(), Why: n.GetWhy()})
	}
	return out
}

func toPrevious(p *promptbuilderv1.PreviousBuild) *sysprompt.Previous {
	if p == nil {
		return nil
	}
	out := &sysprompt.Previous{Text: p.GetText(), Version: p.GetBuilderVersion()}
	for _, s := range p.GetSections() {
		section := sysprompt.Section{ID: s.GetId(), Digest: s.GetSha256()}
		for _, q := range s.GetParts() {
			section.Parts = append(section.Parts, sysprompt.Part{ID: q.GetId(), Digest: q.GetSha256()})
		}
		out.Sections = append(out.Sections, section)
	}
	return out
}

// zoned is the time section as it held; nil where there is no zone.
func zoned(zone, hours string) *promptbuilderv1.TimeSection {
	if zone == "" {
		return nil
	}
	return &promptbuilderv1.TimeSection{Zone: zone, Format: hours}
}
