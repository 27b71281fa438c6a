package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// errMissing says that the repository does not have an object.
var errMissing = errors.New("the repository does not have it")

// Read gives the content of a version, of limit bytes at most. ErrTooLarge, then nothing of it is read into memory; nil where the side has no such file.
func (r *Repo) Read(ctx context.Context, v Version, limit int64) ([]byte, error) {
	if v.Hash == "" {
		return nil, nil
	}
	data, err := r.object(ctx, v.Hash, "blob", limit)
	if errors.Is(err, errMissing) {
		return nil, told(err, "cat-file", r.endObjects()) // Of a broken object git says that it is missing, too, and complains of it.
	}
	return data, err
}

// maxCommit is far more than a commit without its files has.
const maxCommit = 1 << 20

// has says whether there is a commit of a name.
func (r *Repo) has(ctx context.Context, commit string) bool {
	_, err := r.object(ctx, commit+"^{commit}", "commit", maxCommit)
	return err == nil || errors.Is(err, ErrTooLarge)
}

// object reads an object of a kind, by any name that git takes. One git gives all of them: a resolve asks for thousands, and to start a
// program for each takes longer than all else. errMissing.
func (r *Repo) object(ctx context.Context, name, kind string, limit int64) ([]byte, error) {
	if r.objects == nil {
		o, err := startObjects(r.command(context.WithoutCancel(ctx), "cat-file", "--batch"))
		if err != nil {
			return nil, err
		}
		r.objects = o
	}
	unwatch := context.AfterFunc(ctx, r.objects.kill)
	data, err := r.objects.read(name, kind, limit)
	watching := unwatch()
	switch {
	case !watching:
		r.endObjects()
		return nil, context.Cause(ctx)
	case errors.Is(err, ErrTooLarge):
		r.endObjects() // It is about to give all of it.
	case err != nil && !errors.Is(err, errMissing):
		err = told(err, "cat-file", r.endObjects())
	}
	return data, err
}

// Close ends what is still running. The repository can be used on.
func (r *Repo) Close() { r.endObjects() }

// endObjects ends the git that gives objects, if there is one, and gives what it complained of.
func (r *Repo) endObjects() (trouble string) {
	if r.objects == nil {
		return ""
	}
	o := r.objects
	r.objects = nil
	o.kill() // It has nothing to finish.
	_ = o.process.Wait()
	return o.trouble.String()
}

// objects is a running git that answers the name of an object with the object.
type objects struct {
	process *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
	trouble bytes.Buffer
}

func startObjects(c *exec.Cmd) (*objects, error) {
	o := &objects{process: c}
	c.Stderr = &o.trouble
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.in, o.out = in, bufio.NewReader(out)
	return o, c.Start()
}

// read asks for an object. After an error other than errMissing git may be in the middle of an answer.
func (o *objects) read(name, kind string, limit int64) ([]byte, error) {
	if _, err := fmt.Fprintln(o.in, name); err != nil {
		return nil, err
	}
	head, err := o.out.ReadString('\n') // `hash kind size`, then the object and a line end; or `name missing`
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(head, " missing\n") {
		return nil, fmt.Errorf("%s: %w", name, errMissing)
	}
	fields := strings.Fields(head)
	if len(fields) != 3 || fields[1] != kind {
		return nil, fmt.Errorf("asked for the %s %s, git answered %q", kind, name, head)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	switch {
	case err != nil || size < 0:
		return nil, fmt.Errorf("git answered %q, which is no size", head)
	case size > limit:
		return nil, fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return nil, err
	}
	return data[:size], nil
}

func (o *objects) kill() { _ = o.process.Process.Kill() } // Wait says how it ended.
