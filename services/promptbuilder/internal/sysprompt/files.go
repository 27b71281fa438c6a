package sysprompt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// The files that a root has by itself (seed 003, 6), and those that are looked for in it.
var (
	rootFiles = []string{"IDENTITY.md", "SOUL.md", "AGENTS.md", "USER.md", "HEARTBEAT.md"}
	rootMore  = []string{"TOOLS.md", "MEMORY.md", "memory.md"}
	// fullOnly are left out in mode Minimal, where no list is sent: they serve sections that are left out there.
	fullOnly = []string{"HEARTBEAT.md", "MEMORY.md", "memory.md"}
)

// rank is where a file stands, by its last element.
func rank(name string) int {
	switch path.Base(name) {
	case "IDENTITY.md":
		return 0
	case "SOUL.md":
		return 1
	case "AGENTS.md":
		return 2
	case "TOOLS.md":
		return 3
	case "USER.md":
		return 4
	case "HEARTBEAT.md":
		return 6
	case "MEMORY.md", "memory.md":
		return 7
	}
	return 5
}

func inOrder(a, b *page) int {
	return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), strings.Compare(a.Name, b.Name))
}

// FileReport is what became of a file. Sizes are in the unit of the request, the range in bytes of the cleaned text.
type FileReport struct {
	Name                   string
	State                  FileState
	Raw, Printed           int
	Cause                  string // file or total
	DroppedFrom, DroppedTo int
	LostHeadings           []string
	// Lost is how many headings are lost, of which LostHeadings has the first.
	Lost         int
	Digest, Root string
	DuplicateOf  string
}

const (
	markMissing    = "[File not found]"
	markUnreadable = "[File not readable]"
	markCut        = passage.CutMark
	// leastFile is the least that a file is cut to: a mark and a little of it.
	leastFile = passage.LeastCut
	// maxLost bounds the headings that a report names.
	maxLost = 20

	causeFile  = "file"
	causeTotal = "total"
)

// page is a file on its way into the prompt.
type page struct {
	File
	text string // cleaned
	// changes are what cleaning did to it.
	changes string
	report  FileReport
	block   string // as printed, without its heading; empty: not printed
}

// pages are the files of a prompt.
type pages struct {
	stable, changing []*page
	all              []*page
}

// layOut makes the blocks of files, which are in the order of the prompt then. Others are left out by the mode or the list, and prints
// says whether a section is printed: what is not takes no room, and hides no second name. Its error is that of ctx.
func layOut(ctx context.Context, files, others []File, b Bootstrap, prints func(section string) bool) (p pages, err error) {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return pages{}, err
		}
		page := newPage(f, b.Unit)
		if !prints(page.section()) {
			page.leaveOut()
		}
		p.all = append(p.all, page)
	}
	slices.SortStableFunc(p.all, inOrder)
	markTwins(p.all)
	if err := allot(ctx, p.all, b); err != nil {
		return pages{}, err
	}
	for _, f := range p.all {
		switch {
		case f.block == "" && f.report.State != FileLeftOut:
		case f.section() == idFiles:
			p.stable = append(p.stable, f)
		default:
			p.changing = append(p.changing, f)
		}
	}
	for _, f := range others {
		page := newPage(f, b.Unit)
		page.leaveOut()
		p.all = append(p.all, page)
	}
	slices.SortStableFunc(p.all, inOrder)
	return p, nil
}

// section is the one that a file stands in.
func (p *page) section() string {
	if p.Class == Unset || p.Class == Stable {
		return idFiles
	}
	return idChanging
}

// leaveOut takes away what would be printed. A file of which nothing would be keeps its state.
func (p *page) leaveOut() {
	if p.report.State == FileOK {
		p.report.State = FileLeftOut
	}
}

func newPage(f File, unit passage.Unit) *page {
	p := &page{File: f, report: FileReport{Name: f.Name, State: cmp.Or(f.State, FileOK), Root: f.Root}}
	if p.report.State != FileOK {
		return p
	}
	sum := sha256.Sum256(f.Content)
	p.report.Digest = hex.EncodeToString(sum[:])
	cleaned := passage.Body(string(f.Content))
	p.text, p.changes = cleaned.Text, cleaned.Changes()
	p.report.Raw = unit.Size(p.text)
	if p.text == "" {
		p.report.State = FileEmpty
	}
	return p
}

// markTwins finds files that are there under two names: MEMORY.md wins over memory.md beside it.
func markTwins(all []*page) {
	first := map[string]*page{}
	for _, p := range all {
		if p.report.State != FileOK {
			continue
		}
		keys := []string{}
		if p.Same != "" {
			keys = append(keys, "same "+p.Same)
		}
		if strings.EqualFold(path.Base(p.Name), "memory.md") {
			keys = append(keys, "memory "+p.Root+" "+path.Dir(p.Name))
		}
		for _, key := range keys {
			if other := first[key]; other != nil && p.report.State == FileOK {
				p.report.State, p.report.DuplicateOf = FileDuplicate, other.Name
			}
		}
		if p.report.State == FileOK {
			for _, key := range keys {
				first[key] = p
			}
		}
	}
}

// allot cuts files to their limits and makes their blocks. Its error is that of ctx.
func allot(ctx context.Context, all []*page, b Bootstrap) error {
	var printed []*page
	for _, p := range all {
		if p.report.State == FileOK {
			printed = append(printed, p)
		}
	}
	limits := shares(printed, b)
	for _, p := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch p.report.State {
		case FileMissing:
			if !b.SkipMissing {
				p.block = markMissing
			}
		case FileBlocked, FileUnreadable, FileTooLarge:
			p.block = markUnreadable
		case FileOK:
			p.print(limits[p], b)
		}
	}
	return nil
}

func (p *page) print(limit share, b Bootstrap) {
	if limit.dropped {
		p.report.State, p.report.Cause = FileDropped, causeTotal
		p.report.DroppedTo = len(p.text)
		p.report.LostHeadings, p.report.Lost = headings(p.text)
		return
	}
	text := p.text
	if p.report.Raw > limit.size {
		var c cut
		text, c = shorten(p.text, limit.size, b.Unit, b.Truncation)
		p.report.State, p.report.Cause = FileTruncated, limit.cause
		p.report.DroppedFrom, p.report.DroppedTo = c.from, c.to
		p.report.LostHeadings, p.report.Lost = headings(c.dropped)
	}
	p.report.Printed = b.Unit.Size(text)
	if p.block = text; !b.Unframed {
		p.block = passage.Frame("file", "", text)
	}
}

// share is how much of a file may be printed.
type share struct {
	size    int
	cause   string
	dropped bool
}

// shares shares the total out: by priority, and inside one the same for all that want it. A file that would be cut to less
// than leastFile is dropped, the last one of the lowest priority first, and what it would have had goes to the others.
func shares(printed []*page, b Bootstrap) map[*page]share {
	byPriority := slices.Clone(printed)
	slices.SortStableFunc(byPriority, func(x, y *page) int { return cmp.Compare(y.Priority, x.Priority) })
	given := map[*page]share{}
	for _, p := range byPriority {
		given[p] = share{size: b.Max, cause: causeFile}
	}
	if *b.TotalMax == 0 {
		return given
	}
	for kept := byPriority; ; {
		left := *b.TotalMax
		for rest := kept; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Priority == rest[0].Priority {
				n++
			}
			left -= level(rest[:n], left, b.Max, given)
			rest = rest[n:]
		}
		last := -1
		for i, p := range kept {
			if s := given[p]; s.cause == causeTotal && s.size < leastFile {
				last = i
			}
		}
		if last < 0 {
			return given
		}
		given[kept[last]] = share{dropped: true, cause: causeTotal}
		kept = slices.Delete(slices.Clone(kept), last, last+1)
	}
}

// level shares what is left among files of one priority, which are in the order of the prompt, and gives how much they take.
func level(files []*page, left, most int, given map[*page]share) (taken int) {
	wants := make([]int, len(files))
	for i, p := range files {
		wants[i] = min(p.report.Raw, most)
	}
	for i, size := range passage.Share(wants, left) {
		p := files[i]
		taken += size
		s := share{size: size, cause: causeFile}
		if size < wants[i] {
			s.cause = causeTotal
		} else {
			s.size = most
		}
		given[p] = s
	}
	return taken
}

// cut is what shorten left out: bytes of the text, and the lines among them that are not printed.
type cut struct {
	from, to int
	dropped  string
}

// shorten cuts a text to at most n, the mark among it.
func shorten(s string, n int, unit passage.Unit, how Truncation) (string, cut) {
	var head, digest, tail string
	switch m := n - len(markCut) - 2; how {
	case HeadTail:
		head, tail = unit.HeadTail(s, n)
	case Digest:
		head, tail = unit.Head(s, m/2), unit.Tail(s, m/4)
	default:
		text, kept := unit.CutHead(s, n)
		return text, cut{len(kept), len(s), s[len(kept):]}
	}
	c := cut{from: len(head), to: len(s) - len(tail)}
	c.dropped = s[c.from:c.to]
	if how == Digest {
		m := n - len(markCut) - 2
		digest, c.dropped = summary(c.dropped, m/4, unit)
	}
	return head + "\n" + markCut + "\n" + digest + tail, c
}

var (
	heading = regexp.MustCompile(`^#{1,6} `)
	orders  = []string{"MUST", "NEVER", "ALWAYS", "必ず", "禁止", "してはならない"}
)

// summary takes the lines of a text that matter, as far as they fit, and gives those that it did not take.
func summary(s string, n int, unit passage.Unit) (string, string) {
	var taken, left strings.Builder
	for line := range strings.Lines(s) {
		matters := heading.MatchString(line) || slices.ContainsFunc(orders, func(word string) bool { return strings.Contains(line, word) })
		if size := unit.Size(line); matters && size <= n {
			taken.WriteString(line)
			n -= size
		} else {
			left.WriteString(line)
		}
	}
	return taken.String(), left.String()
}

// headings gives the first headings of a text, and how many it has.
func headings(s string) (first []string, n int) {
	for line := range strings.Lines(s) {
		if !heading.MatchString(line) {
			continue
		}
		if n++; n <= maxLost {
			first = append(first, passage.Line(line))
		}
	}
	return first, n
}

func (d *Draft) stableFiles() Given { return blocks(d.files.stable) }

func (d *Draft) changingFiles() Given { return blocks(d.files.changing) }

func blocks(files []*page) Given {
	if len(files) == 0 {
		return Given{LeftOut: NotSent}
	}
	var b builder
	for _, p := range files {
		b.part("\n\n", p.Name, "## "+passage.Name(p.Name)+"\n\n"+p.block)
	}
	return b.given()
}
