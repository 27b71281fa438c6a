package prefixtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Build makes a system prompt.
type Build func(sysprompt.Request) (sysprompt.Prompt, error)

// Arm is a way to make system prompts. All say the same of tools, files, workspace and channel.
type Arm struct {
	Name string
	// build gives a prompt and how many of its bytes stand above the cache boundary; 0 where it has none.
	build func(w *world, mode sysprompt.Mode) (text string, stable int, err error)
}

// Naive has the texts of all skills in it, and what changes with each request at its beginning (arm A).
func Naive() Arm {
	return Arm{"A naive", func(w *world, mode sysprompt.Mode) (string, int, error) {
		w.shuffle()
		head := fmt.Sprintf("Current time: %s\nRequest ID: %016x\n\n", w.now.Format("2006-01-02 15:04:05"), w.rnd.Uint64())
		return head + inlined(w, mode), 0, nil
	}}
}

// Inlined is Naive without what changes with each request (arm B).
func Inlined() Arm {
	return Arm{"B naive without clock, id and shuffling", func(w *world, mode sysprompt.Mode) (string, int, error) {
		return inlined(w, mode), 0, nil
	}}
}

func inlined(w *world, mode sysprompt.Mode) string {
	parts := []string{tooling(w)}
	if mode == sysprompt.Full {
		for _, k := range w.skills {
			parts = append(parts, k.Name+" Skill:\n"+k.Description+"\n\n"+k.body)
		}
	}
	return strings.Join(append(parts, "Working directory: "+workspace, bootstrap(w), runtime(w)), "\n\n")
}

// Sample is the sample of seed 003 as it is written there, with the files of this workspace and a line for the channel in its
// last section (arm C).
func Sample() Arm {
	return Arm{"C sample of seed 003", func(w *world, mode sysprompt.Mode) (string, int, error) {
		parts := []string{tooling(w)}
		if mode == sysprompt.Full {
			var b strings.Builder
			b.WriteString("<available_skills>\n")
			for _, k := range w.skills {
				fmt.Fprintf(&b, "  <skill>\n    <name>%s</name>\n    <description>%s</description>\n    <location>%s</location>\n  </skill>\n", k.Name, k.Description, k.Location)
			}
			b.WriteString("</available_skills>\n\nUse the read tool to load SKILL.md when you need to use a skill.")
			parts = append(parts, b.String())
		}
		parts = append(parts, "Working directory: "+workspace, bootstrap(w))
		if mode == sysprompt.Full {
			parts = append(parts, documentation, heartbeat)
		}
		return strings.Join(append(parts, runtime(w)), "\n\n"), 0, nil
	}}
}

func tooling(w *world) string {
	var b strings.Builder
	b.WriteString("\nAvailable tools:\n")
	for _, t := range w.tools {
		b.WriteString("- " + t.Name + ": " + t.Summary + "\n")
	}
	return b.String()
}

func bootstrap(w *world) string {
	var b strings.Builder
	b.WriteString("# Project Context\n\n")
	for _, f := range w.files {
		b.WriteString("## " + f.Name + "\n\n" + string(f.Content) + "\n\n")
	}
	return b.String()
}

func runtime(w *world) string {
	return "\nRuntime:\n- OS: " + system + "\n- Python: 3.12\n- Workspace: " + workspace + "\n- Channel: " + w.channel + "\n"
}

// Ours is what BuildSystem makes (arm D).
func Ours(build Build) Arm {
	return Arm{"D ours", func(w *world, mode sysprompt.Mode) (string, int, error) {
		p, err := build(w.request(mode))
		return p.Text, p.Cache.Byte, err
	}}
}

// FilesFirst are the sections of Ours in an order that has no regard for the boundary: the files, then what changes with
// sessions, then the others (arm E).
func FilesFirst(build Build) Arm {
	return Arm{"E ours, files first", func(w *world, mode sysprompt.Mode) (string, int, error) {
		p, err := build(w.request(mode))
		if err != nil {
			return "", 0, err
		}
		rank := func(s sysprompt.Section) int {
			switch {
			case s.ID == "project_context":
				return 0
			case s.Start >= p.Cache.Byte:
				return 1
			}
			return 2
		}
		sections := slices.Clone(p.Sections)
		slices.SortStableFunc(sections, func(a, b sysprompt.Section) int { return rank(a) - rank(b) })
		var texts []string
		for _, s := range sections {
			texts = append(texts, p.Text[s.Start:s.End])
		}
		return strings.Join(texts, "\n\n"), 0, nil
	}}
}

// Frozen is Ours with the files and skills as they were when the session began, as an agent that sends back its snapshot has
// them.
func Frozen(build Build) Arm {
	var files []sysprompt.File
	var skills []skill
	session := 0
	return Arm{"D with the snapshot of the session's beginning", func(w *world, mode sysprompt.Mode) (string, int, error) {
		if w.session != session {
			files, skills, session = slices.Clone(w.files), w.skills, w.session
		}
		then := *w
		then.files, then.skills = files, skills
		p, err := build(then.request(mode))
		return p.Text, p.Cache.Byte, err
	}}
}
