package demo

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// page writes what the demo shows, in numbered chapters.
type page struct {
	out     io.Writer
	chapter int
}

func (p *page) title(format string, args ...any) {
	p.chapter++
	fmt.Fprintf(p.out, "\n%d. %s\n\n", p.chapter, fmt.Sprintf(format, args...))
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p.out, "   %s\n", fmt.Sprintf(format, args...))
}

// quote shows a text.
func (p *page) quote(text string) {
	for line := range strings.Lines(text) {
		p.line("%s", strings.TrimRight(line, "\n"))
	}
}

// breakdown shows where the tokens of a prompt went.
func (p *page) breakdown(b *promptbuilderv1.BuildStoryResponse) {
	p.line("%-13s %7s %11s", "block", "tokens", "characters")
	for _, block := range b.Blocks {
		name := strings.ToLower(strings.TrimPrefix(block.Kind.String(), "BLOCK_KIND_"))
		p.line("%-13s %7d %11d", name, block.Tokens, block.Characters)
	}
	p.line("%-13s %7d", "in all", b.Tokens)
	p.line("")
	p.line("window %d tokens, %d kept for the answer, so at most %d for the prompt", b.Backend.Window, b.MaxTokens, b.Limit)
	if c := b.Cut; c != nil {
		p.line("cut: the first %d lines (%d characters); the text now begins with %q", c.Lines, c.Characters, c.FirstKept)
	} else {
		p.line("cut: nothing")
	}
	for _, pick := range b.Picks {
		p.line("drawn for %s: %s", pick.Field, pick.Text)
	}
	for _, w := range b.Warnings {
		p.line("note: %s", w.Message)
	}
	p.line("task %s; %d counts were needed; sha256 %s...",
		strings.TrimPrefix(b.Task.String(), "STORY_TASK_"), b.CountsUsed, b.Digest[:16])
}

// stream shows an answer as it comes and gives the stored node.
func (p *page) stream(first string, events func() (*agentv1.GenerateNodeEvent, error)) (*flowstorev1.Node, error) {
	fmt.Fprintf(p.out, "   ...%s", first)
	defer fmt.Fprintln(p.out)
	for {
		event, err := events()
		if err != nil {
			return nil, err
		}
		switch e := event.Event.(type) {
		case *agentv1.GenerateNodeEvent_Text:
			fmt.Fprint(p.out, strings.ReplaceAll(e.Text.Text, "\n", "\n   "))
		case *agentv1.GenerateNodeEvent_Stored:
			return e.Stored.Node, nil
		}
	}
}

// made says how an answer was made.
func (p *page) made(n *flowstorev1.Node) {
	g := n.Generation
	answer := n.Texts[len(n.Texts)-1]
	p.line("")
	p.line("stored as %s (%s)", n.Name, g.FinishReason)
	p.line("%d tokens in %.2f s (%.0f a second); %d of %d prompt tokens came from the server's cache",
		g.AnswerTokens, g.AnswerSeconds, answer.TokensPerSecond, g.CachedTokens, g.PromptTokens)
}

// graph draws a flow as a tree, each node with the beginning of its last text.
func (p *page) graph(f *flowstorev1.Flow, firstLine func(node string) string) {
	names := map[int32]string{}
	children := map[int32][]int32{}
	hasParent := map[int32]bool{}
	for _, n := range f.Nodes {
		names[n.Index] = n.Node
	}
	for _, e := range f.Edges {
		children[e.From] = append(children[e.From], e.To)
		hasParent[e.To] = true
	}
	var draw func(index int32, indent string)
	draw = func(index int32, indent string) {
		p.line("%s%d  %s  %s", indent, index, short(names[index]), firstLine(names[index]))
		for _, child := range children[index] {
			draw(child, indent+"   ")
		}
	}
	for _, n := range f.Nodes {
		if !hasParent[n.Index] {
			draw(n.Index, "")
		}
	}
}

// tree lists the text files below a folder; what begins with a dot is not the writer's.
func (p *page) tree(dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == "." {
			return nil
		}
		if strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		indent := strings.Repeat("   ", strings.Count(name, "/"))
		if entry.IsDir() {
			p.line("%s%s/", indent, path.Base(name))
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		p.line("%s%-14s %6d bytes", indent, path.Base(name), info.Size())
		return nil
	})
}

// file prints a text file.
func (p *page) file(name string, content []byte) {
	p.line("")
	p.line("%s:", name)
	p.line("")
	p.quote(string(content))
}

// short gives the last eight characters of a name's UUID: enough to tell nodes apart.
func short(name string) string {
	if len(name) < 8 {
		return name
	}
	return "…" + name[len(name)-8:]
}

// beginning gives the first characters of a text, on one line.
func beginning(text string, characters int) string {
	return client.Cut(client.OneLine(text), characters)
}

// lastLine gives the last line of a text.
func lastLine(text string) string {
	return text[strings.LastIndexByte(text, '\n')+1:]
}
