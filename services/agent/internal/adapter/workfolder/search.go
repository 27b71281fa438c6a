package workfolder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// search is one on its way.
type search struct {
	*Root
	ctx   context.Context
	q     folder.Query
	forms []string
	found folder.Found
}

// errCut ends a search at a bound.
var errCut = errors.New("a bound was reached")

// Search implements folder.Root: files in the order of their paths, no link followed.
func (r *Root) Search(ctx context.Context, q folder.Query) (folder.Found, error) {
	under, err := r.rules.Clean(q.Under, folder.Read)
	if err != nil {
		return folder.Found{}, err
	}
	if err := checkQuery(&q); err != nil {
		return folder.Found{}, err
	}
	s := &search{Root: r, ctx: ctx, q: q, found: folder.Found{Skipped: map[string]int{}}}
	for _, form := range []string{q.Text, norm.NFC.String(q.Text), norm.NFD.String(q.Text)} {
		if form = s.fold(form); !slices.Contains(s.forms, form) {
			s.forms = append(s.forms, form)
		}
	}
	at, err := r.find(ctx, under, enter)
	if err != nil {
		return folder.Found{}, err
	}
	defer at.close()
	if at.info == nil {
		return folder.Found{}, folder.WrongKind(under, folder.Nothing)
	}
	if at.base == "." {
		err = s.folder(at, 0)
	} else {
		err = s.file(at)
	}
	if err != nil && !errors.Is(err, errCut) {
		return folder.Found{}, told(under, err)
	}
	return s.found, nil
}

func checkQuery(q *folder.Query) error {
	if q.Most <= 0 || q.Most > folder.MaxMatches {
		q.Most = folder.MaxMatches
	}
	if _, err := path.Match(q.Name, ""); err != nil {
		return folder.Refuse(folder.BadPath, q.Name, "it is no pattern of names; write one such as *.go")
	}
	if q.Text == "" || len(q.Text) > folder.MaxQuery || !utf8.ValidString(q.Text) || strings.ContainsAny(q.Text, "\n\x00") {
		return folder.Refuse(folder.NotText, q.Under, fmt.Sprintf("the text to search for must be of one line and of 1 to %d bytes", folder.MaxQuery))
	}
	return nil
}

// fold takes away the case of a text, character by character, where it is not asked for.
func (s *search) fold(text string) string {
	if s.q.AnyCase {
		return strings.ToLower(text)
	}
	return text
}

func (s *search) skip(name, reason string) {
	s.found.Skipped[reason]++
	if len(s.found.SkippedPaths) < folder.MaxSkippedNamed {
		s.found.SkippedPaths = append(s.found.SkippedPaths, name)
	}
}

// folder searches what is in an open folder.
func (s *search) folder(at *spot, depth int) error {
	names, unnameable, err := readNames(at.self, s.Root)
	if err != nil {
		return err
	}
	if unnameable > 0 {
		s.found.Skipped["names that no path can have"] += unnameable
	}
	for _, name := range names {
		info, err := at.dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // It went away meanwhile.
		}
		if err != nil {
			return err
		}
		sub := &spot{dir: at.dir, self: at.self, at: at.path(), base: name, info: info}
		switch kindOf(info) {
		case folder.KindFolder:
			err = s.enter(sub, depth+1)
		case folder.KindFile:
			err = s.file(sub)
		case folder.KindLink:
			s.skip(sub.path(), "links")
		default:
			s.skip(sub.path(), "pipes, devices and sockets")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enter searches a folder in an open one.
func (s *search) enter(at *spot, depth int) error {
	if depth > folder.MaxDepth {
		s.skip(at.path(), "too deep")
		return nil
	}
	dir, err := openDir(at.dir, at.base, at.info)
	if err != nil {
		s.skip(at.path(), "cannot be read")
		return nil
	}
	sub := &spot{dir: dir, at: at.path(), base: ".", info: at.info}
	sub.opened = append(sub.opened, dir)
	defer sub.close()
	if sub.self, err = dir.Open("."); err != nil {
		return err
	}
	if err := s.onMount(sub.self, sub.path()); err != nil {
		s.skip(at.path(), "other disks")
		return nil
	}
	return s.folder(sub, depth)
}

// file searches one file.
func (s *search) file(at *spot) error {
	name := at.path()
	if ok, err := path.Match(s.q.Name, at.base); err == nil && !ok && s.q.Name != "" {
		return nil
	}
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case s.found.Files >= folder.MaxSearched:
		s.found.Cut = fmt.Sprintf("%d files were read, and there are more", s.found.Files)
		return errCut
	case at.info.Size() > folder.MaxContent:
		s.skip(name, "too large")
		return nil
	case s.found.Bytes+at.info.Size() > folder.MaxSearchedBytes:
		s.found.Cut = fmt.Sprintf("%d bytes were read, and there are more", s.found.Bytes)
		return errCut
	}
	f, _, err := s.openFile(at, name, false)
	if err != nil {
		var refusal *folder.Refusal
		if errors.As(err, &refusal) && refusal.Code == folder.HardLink {
			s.skip(name, "hard links")
		} else {
			s.skip(name, "cannot be read")
		}
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	data, _, size, err := digest(s.ctx, f, name, folder.MaxContent, folder.MaxContent)
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	s.found.Files++
	s.found.Bytes += size
	switch {
	case err != nil:
		s.skip(name, "cannot be read")
	case folder.CheckText(name, data) != nil:
		s.skip(name, "not text in UTF-8")
	default:
		return s.lines(name, data)
	}
	return nil
}

// lines gives the lines of a text with one of the forms.
func (s *search) lines(name string, data []byte) error {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimRight(string(line), "\r\n")
		at := s.first(text)
		if at < 0 {
			continue
		}
		if len(s.found.Matches) == s.q.Most {
			s.found.Cut = fmt.Sprintf("%d matches were found, and there are more", s.q.Most)
			return errCut
		}
		m := folder.Match{Path: name, Line: number, Column: utf8.RuneCountInString(text[:at]) + 1}
		m.Text, m.Cut = excerpt(text, at)
		s.found.Matches = append(s.found.Matches, m)
	}
	return nil
}

// first is where a line has the text, in bytes of the line as it is; -1 where it has not.
func (s *search) first(line string) int {
	folded := s.fold(line)
	at := -1
	for _, form := range s.forms {
		if i := strings.Index(folded, form); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at > 0 && len(folded) != len(line) { // Case changes the length of some letters; it does not change their number.
		n := utf8.RuneCountInString(folded[:at])
		for at = range line {
			if n == 0 {
				break
			}
			n--
		}
	}
	return at
}

// excerpt is what is shown of a line: it whole, or what is around the match.
func excerpt(line string, at int) (string, bool) {
	if len(line) <= folder.MaxExcerpt {
		return line, false
	}
	from := max(0, min(at-folder.MaxExcerpt/4, len(line)-folder.MaxExcerpt))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	to := min(len(line), from+folder.MaxExcerpt)
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to--
	}
	return line[from:to], true
}
