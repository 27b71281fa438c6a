package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// readFile gives lines of a file with their numbers.
func (r Router) readFile(ctx context.Context, j Judged) ([]byte, error) {
	var a struct{ Offset, Limit int }
	root, name, err := r.where(j)
	if err == nil {
		err = json.Unmarshal(j.Args, &a)
	}
	if err != nil {
		return nil, err
	}
	// Who may allow a file with several names has allowed it where the call was asked about; the folder's own setting still holds (S4).
	c, err := root.Read(ctx, name, folder.ReadOptions{HardLinks: j.approved})
	if err == nil {
		err = r.found(j, c.Path)
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(c.Text, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	first := min(a.Offset-1, len(lines))
	last := min(first+a.Limit, len(lines))
	var b bytes.Buffer
	if first > 0 || last < len(lines) {
		fmt.Fprintf(&b, "(lines %d to %d of %d)\n", first+1, last, len(lines))
	}
	for i := first; i < last; i++ {
		fmt.Fprintf(&b, "%d\t%s", i+1, lines[i])
	}
	return b.Bytes(), nil
}

// about is what stat tells.
type about struct {
	folder.Entry
	// Hash is that of a text that this caller may read.
	Hash folder.Hash `json:"hash,omitempty"`
}

// readStat tells of one name. A hash tells of the content, so it is given to whoever may read that (S21).
func (r Router) readStat(ctx context.Context, j Judged) ([]byte, error) {
	root, name, err := r.where(j)
	if err != nil {
		return nil, err
	}
	e, err := root.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if e.Kind == folder.KindLink {
		at, err := follow(ctx, root, name, false)
		if err != nil {
			return nil, err
		}
		if e, err = r.hide(ctx, j, at, e); err != nil {
			return nil, err
		}
	}
	out := about{Entry: e}
	if e.Kind == folder.KindFile && e.Size <= folder.MaxContent && r.mayRead(j.session, j.Root, j.Paths...) {
		c, err := root.Read(ctx, name, folder.ReadOptions{})
		if err == nil && r.mayRead(j.session, j.Root, c.Path) {
			out.Hash = c.Hash
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return json.Marshal(out)
}

// lister walks folders for list.
type lister struct {
	Router
	j    Judged
	root folder.Root
	most int
	out  []string
	more bool
}

// readList gives names, those of folders with a / behind them. What this caller may not stat is no name, and what they may not list is
// not entered.
func (r Router) readList(ctx context.Context, j Judged) ([]byte, error) {
	var a struct{ Depth, Limit int }
	root, name, err := r.where(j)
	if err == nil {
		err = json.Unmarshal(j.Args, &a)
	}
	if err != nil {
		return nil, err
	}
	l := &lister{Router: r, j: j, root: root, most: a.Limit}
	if err := l.folder(ctx, name, path.Join(root.About().Mount, name), a.Depth); err != nil {
		return nil, err
	}
	if l.more {
		l.out = append(l.out, fmt.Sprintf("(more than %d entries)", a.Limit))
	}
	return []byte(strings.Join(l.out, "\n")), nil
}

// folder lists one folder; shown is its path as the caller named it.
func (l *lister) folder(ctx context.Context, name, shown string, depth int) error {
	for after := ""; ; {
		list, err := l.root.List(ctx, name, after)
		if err == nil && after == "" {
			err = l.found(l.j, list.Path)
		}
		if err != nil {
			return err
		}
		for _, e := range list.Entries {
			after = e.Name
			at := path.Join(list.Path, e.Name)
			if !l.may(l.j.session, tool.Stat, l.j.Root, at) {
				continue
			}
			if len(l.out) >= l.most {
				l.more = true
				return nil
			}
			if e, err = l.hide(ctx, l.j, at, e); err != nil {
				return err
			}
			l.out = append(l.out, line(path.Join(shown, e.Name), e))
			if e.Kind != folder.KindFolder || depth <= 1 || !l.may(l.j.session, tool.List, l.j.Root, at) {
				continue
			}
			var refusal *folder.Refusal
			if err := l.folder(ctx, at, path.Join(shown, e.Name), depth-1); err != nil && !errors.As(err, &refusal) {
				return err
			}
		}
		if !list.More || len(list.Entries) == 0 {
			return nil
		}
	}
}

// line is an entry of a list.
func line(name string, e folder.Entry) string {
	if strings.ContainsFunc(name, passage.Invisible) || !utf8.ValidString(name) {
		name = folder.Show(name)
	}
	switch e.Kind {
	case folder.KindFolder:
		return name + "/"
	case folder.KindLink:
		if e.Hidden {
			return name + " -> (not shown)"
		}
		return name + " -> " + folder.Show(e.Target)
	case folder.KindFile:
		return fmt.Sprintf("%s (%d bytes)", name, e.Size)
	}
	return name + " (no file)"
}

// readSearch gives the lines that have a text. A file that this caller may not read has none.
func (r Router) readSearch(ctx context.Context, j Judged) ([]byte, error) {
	var a struct {
		Query      string
		IgnoreCase bool `json:"ignore_case"`
		Limit      int
	}
	root, name, err := r.where(j)
	if err == nil {
		err = json.Unmarshal(j.Args, &a)
	}
	if err != nil {
		return nil, err
	}
	// What is hidden must not take the place of what is not, so all that may be found is asked for.
	f, err := root.Search(ctx, folder.Query{Text: a.Query, Under: name, AnyCase: a.IgnoreCase, Most: folder.MaxMatches})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	var out []string
	cut := f.Cut
	for _, m := range f.Matches {
		may, ok := known[m.Path]
		if !ok {
			may = r.mayRead(j.session, j.Root, m.Path) && r.found(j, m.Path) == nil
			known[m.Path] = may
		}
		if !may {
			continue
		}
		if len(out) >= a.Limit {
			cut = fmt.Sprintf("there are more than %d matches", a.Limit)
			break
		}
		out = append(out, fmt.Sprintf("%s:%d:%d: %s", folder.Show(path.Join(root.About().Mount, m.Path)), m.Line, m.Column, m.Text))
	}
	if len(out) == 0 {
		out = append(out, "(nothing found)")
	}
	if cut != "" {
		out = append(out, "(the search ended early: "+cut+")")
	}
	for _, reason := range slices.Sorted(maps.Keys(f.Skipped)) {
		out = append(out, fmt.Sprintf("(not searched: %d, %s)", f.Skipped[reason], reason))
	}
	return []byte(strings.Join(out, "\n")), nil
}
