package transport

import (
	"cmp"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

func fromSystem(p sysprompt.Prompt) *promptbuilderv1.BuildSystemResponse {
	res := &promptbuilderv1.BuildSystemResponse{
		Text: p.Text, Bytes: int32(len(p.Text)), Sha256: p.Digest, BuilderVersion: sysprompt.Version, ToolsSha256: p.ToolsDigest,
		Tokens:     &promptbuilderv1.TokenCount{Count: int32(p.Tokens), Counter: p.Counter, Exact: p.Exact},
		Boundaries: &promptbuilderv1.Boundaries{Cache: fromBoundary(p.Cache), Session: fromBoundary(p.Session)},
		Workspace:  p.Workspace, Time: zoned(p.Zone, p.Hours), MaxChars: int32(p.MaxChars), Forgeable: p.Forgeable, StaleSnapshot: p.Stale,
		CountsUsed: int32(p.Counts), CharactersSent: int32(p.Sent), Diff: fromDiff(p.Diff), Snapshot: fromSnapshot(p.Snapshot),
	}
	if p.Context != nil {
		res.Context = fromContext(*p.Context)
		res.Context.Text = "" // It stands in the prompt.
	}
	for _, s := range p.Sections {
		res.Sections = append(res.Sections, fromSection(s))
	}
	for _, l := range p.LeftOut {
		res.LeftOut = append(res.LeftOut, &promptbuilderv1.LeftOut{
			Id: l.ID, Reason: promptbuilderv1.LeftOutReason(number(promptbuilderv1.LeftOutReason_value, "LEFT_OUT_REASON_", string(l.Reason))),
		})
	}
	for _, f := range p.Files {
		res.Files = append(res.Files, &promptbuilderv1.FileReport{
			Name: f.Name, State: fromFileState(f.State), RawSize: int32(f.Raw), PrintedSize: int32(f.Printed), Cause: f.Cause,
			DroppedFrom: int32(f.DroppedFrom), DroppedTo: int32(f.DroppedTo), LostHeadings: f.LostHeadings, Sha256: f.Digest, Root: f.Root, DuplicateOf: f.DuplicateOf,
			LostHeadingCount: int32(f.Lost),
		})
	}
	for _, d := range p.Diagnostics {
		res.Diagnostics = append(res.Diagnostics, &promptbuilderv1.Diagnostic{Code: d.Code, Section: d.Section, Part: d.Part, Byte: int32(d.Byte), Message: d.Message})
	}
	for _, t := range p.Tools {
		res.Tools = append(res.Tools, &promptbuilderv1.Tool{Name: t.Name, Summary: t.Summary, SchemaJson: t.Schema})
	}
	return res
}

func fromBoundary(b sysprompt.Boundary) *promptbuilderv1.Boundary {
	return &promptbuilderv1.Boundary{Byte: int32(b.Byte), Sha256: b.Digest, Tokens: int32(b.Tokens)}
}

func fromFileState(s sysprompt.FileState) promptbuilderv1.FileState {
	return promptbuilderv1.FileState(number(promptbuilderv1.FileState_value, "FILE_STATE_", string(s)))
}

func fromSection(s sysprompt.Section) *promptbuilderv1.SystemSection {
	section := &promptbuilderv1.SystemSection{
		Id: s.ID, Class: promptbuilderv1.SectionClass(s.Class), Start: int32(s.Start), End: int32(s.End), Characters: int32(s.Characters),
		Tokens: int32(s.Tokens), Sha256: s.Digest,
	}
	for _, p := range s.Parts {
		section.Parts = append(section.Parts, &promptbuilderv1.SystemPart{Id: p.ID, Start: int32(p.Start), End: int32(p.End), Sha256: p.Digest})
	}
	return section
}

func fromDiff(d *sysprompt.Diff) *promptbuilderv1.SystemDiff {
	if d == nil {
		return nil
	}
	diff := &promptbuilderv1.SystemDiff{CommonPrefixBytes: int32(d.Prefix), Exact: d.Exact, ReusablePermille: int32(d.Permille), OtherVersion: d.OtherVersion}
	if d.Reason != "" {
		diff.FirstChanged = &promptbuilderv1.FirstChange{
			Section: d.Section, Part: d.Part, Reason: promptbuilderv1.DiffReason(number(promptbuilderv1.DiffReason_value, "DIFF_REASON_", string(d.Reason))),
		}
	}
	return diff
}

func fromSnapshot(s *sysprompt.Snapshot) *promptbuilderv1.Snapshot {
	if s == nil {
		return nil
	}
	out := &promptbuilderv1.Snapshot{}
	for _, f := range s.Files {
		out.Files = append(out.Files, &promptbuilderv1.SnapshotFile{
			File: &promptbuilderv1.PromptFile{Name: f.Name, Content: f.Content, Class: promptbuilderv1.SectionClass(f.Class), Priority: int32(f.Priority)},
			Root: f.Root, State: fromFileState(cmp.Or(f.State, sysprompt.FileOK)), Same: f.Same,
		})
	}
	for _, k := range s.Skills {
		out.Skills = append(out.Skills, &promptbuilderv1.SnapshotSkill{
			Skill: &promptbuilderv1.Skill{Name: k.Name, Description: k.Description, Location: k.Location, Priority: int32(k.Priority)},
			Root:  k.Root, Path: k.Path, Sha256: k.Digest,
		})
	}
	for _, n := range s.Notes {
		out.SkillNotes = append(out.SkillNotes, &promptbuilderv1.SkillNote{Name: n.Name, What: n.What, Why: n.Why})
	}
	return out
}
