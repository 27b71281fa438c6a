package promptbuilder

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Folders are what prompts are made of beside the session. Names of folders are those in promptbuilder's settings (`roots`).
type Folders struct {
	// Bootstrap has the files of the workspace, such as AGENTS.md; empty: none are printed.
	Bootstrap string
	// FileChars are the most characters of a file, TotalChars of all of them; 0: as promptbuilder has it, which is more than a small window
	// has room for.
	FileChars, TotalChars int
	// Skills have those that are listed.
	Skills []SkillRoot
	// Zone is a name of the IANA database, and Hours `12`, `24` or `auto`. Empty: as promptbuilder's settings say.
	Zone, Hours string
}

// SkillRoot is a folder with skills. Mount is the path under which the tool read sees it; empty: that of promptbuilder's settings.
type SkillRoot struct{ Root, Mount string }

// folders has files and skills printed as the first prompt of the session had them, or read for this one, the first. read says that
// there are such folders; notice is what is wrong with those that were kept.
func (c Sessions) folders(q *promptbuilderv1.BuildSystemRequest, p turn.Prompt) (read bool, notice string) {
	if c.Folders == nil {
		return false, ""
	}
	f := c.Folders(p.Session)
	if f.Zone != "" || f.Hours != "" {
		q.Time = &promptbuilderv1.TimeSection{Zone: f.Zone, Format: f.Hours}
	}
	if f.Bootstrap == "" && len(f.Skills) == 0 {
		return false, ""
	}
	if f.Bootstrap != "" {
		q.Bootstrap = &promptbuilderv1.Bootstrap{Root: f.Bootstrap, MaxChars: int32(f.FileChars)}
		if f.TotalChars > 0 {
			q.Bootstrap.TotalMaxChars = proto.Int32(int32(f.TotalChars))
		}
	}
	for _, s := range f.Skills {
		q.SkillRoots = append(q.SkillRoots, &promptbuilderv1.SkillRoot{Root: s.Root, Mount: s.Mount})
	}
	if len(p.Snapshot) > 0 {
		q.Snapshot = &promptbuilderv1.Snapshot{}
		if err := proto.Unmarshal(p.Snapshot, q.Snapshot); err == nil {
			return true, ""
		}
		q.Snapshot, notice = nil, "the files and skills that the session began with cannot be read any more: those of now are taken"
	}
	q.ReturnSnapshot = true
	return true, notice
}

// without takes files and skills away.
func without(q *promptbuilderv1.BuildSystemRequest) (read bool) {
	q.Bootstrap, q.SkillRoots, q.Snapshot, q.ReturnSnapshot = nil, nil, nil, false
	return false
}

// ofFolders says that promptbuilder refuses files and skills, and nothing else.
func ofFolders(err error) bool {
	e, _ := apierr.FromStatus(err)
	return e != nil && e.Reason == apierr.ReasonInvalidField && len(e.Violations) > 0 && !slices.ContainsFunc(e.Violations, func(v apierr.Violation) bool {
		return !slices.ContainsFunc([]string{"system.bootstrap", "system.skill", "system.snapshot", "system.files"}, func(field string) bool { return strings.HasPrefix(v.Field, field) })
	})
}

// keep puts what was read into a reply, if it is not too large.
func keep(out *turn.Built, s *promptbuilderv1.Snapshot) error {
	if s == nil {
		return nil
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return err
	}
	if len(raw) > turn.MaxSnapshot {
		out.Notices = append(out.Notices, fmt.Sprintf("files and skills have %d bytes, and at most %d are kept: each prompt reads them anew", len(raw), turn.MaxSnapshot))
		return nil
	}
	out.Snapshot = raw
	return nil
}

// seen is what a person should know of the files and skills of a prompt: which are not there as they stand on the disk.
func seen(b *promptbuilderv1.BuildSystemResponse) (notices []string) {
	if stale := b.GetStaleSnapshot(); len(stale) > 0 {
		notices = append(notices, "changed since the session began, which goes on with what they said then: "+strings.Join(stale, ", "))
	}
	for _, d := range b.GetDiagnostics() {
		if d.GetCode() == "folder_unreadable" || d.GetCode() == "skill_refused" {
			notices = append(notices, d.GetMessage())
		}
	}
	for _, f := range b.GetFiles() {
		switch f.GetState() {
		case promptbuilderv1.FileState_FILE_STATE_TRUNCATED, promptbuilderv1.FileState_FILE_STATE_BLOCKED_SYMLINK,
			promptbuilderv1.FileState_FILE_STATE_UNREADABLE, promptbuilderv1.FileState_FILE_STATE_TOO_LARGE, promptbuilderv1.FileState_FILE_STATE_DROPPED:
			notices = append(notices, fmt.Sprintf("the file %s is not in the prompt as it stands on the disk: %s", f.GetName(), strings.TrimPrefix(f.GetState().String(), "FILE_STATE_")))
		default:
		}
	}
	return notices
}
