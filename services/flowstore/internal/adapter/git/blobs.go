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

// Read gives the content of a version, of limit bytes at most. ErrTooLarge, then nothing of it is read into memory; nil where the side has no such file.
// One git answers all calls: a resolve reads thousands of versions, and starting a program for each takes longer than all else.
func (r *Repo) Read(ctx context.Context, v Version, limit int64) ([]byte, error) {
	if v.Hash == "" {
		return nil, nil
	}
	if r.blobs == nil {
		b, err := startBlobs(r.command(context.WithoutCancel(ctx), "cat-file", "--batch"))
		if err != nil {
			return nil, err
		}
		r.blobs = b
	}
	unwatch := context.AfterFunc(ctx, r.blobs.kill)
	data, err := r.blobs.read(v.Hash, limit)
	if !unwatch() {
		err = context.Cause(ctx)
	}
	if err == nil {
		return data, nil
	}
	trouble := r.blobs.end()
	r.blobs = nil
	if errors.Is(err, ErrTooLarge) || ctx.Err() != nil {
		return nil, err
	}
	return nil, told(err, "cat-file", trouble)
}

// Close ends what Read has started.
func (r *Repo) Close() {
	if r.blobs != nil {
		r.blobs.end()
		r.blobs = nil
	}
}

// blobs is a running git that answers the name of a content with the content.
type blobs struct {
	process *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
	trouble *bytes.Buffer
}

func startBlobs(c *exec.Cmd) (*blobs, error) {
	b := &blobs{process: c, trouble: &bytes.Buffer{}}
	c.Stderr = b.trouble
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.in, b.out = in, bufio.NewReader(out)
	return b, c.Start()
}

// read asks for a content. Behind an error, git may be in the middle of an answer: end it.
func (b *blobs) read(hash string, limit int64) ([]byte, error) {
	if _, err := fmt.Fprintln(b.in, hash); err != nil {
		return nil, err
	}
	head, err := b.out.ReadString('\n') // `hash type size`, then the content and a line end; or `hash missing`
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return nil, fmt.Errorf("the repository does not have the content %s", hash)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	switch {
	case err != nil || size < 0 || fields[1] != "blob":
		return nil, fmt.Errorf("%s is no content of a file: git answered %q", hash, head)
	case size > limit:
		return nil, fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, data); err != nil {
		return nil, err
	}
	return data[:size], nil
}

func (b *blobs) kill() { _ = b.process.Process.Kill() } // Wait says how it ended.

// end stops git, which has nothing to finish, and gives what it complained of.
func (b *blobs) end() (trouble string) {
	b.kill()
	_ = b.process.Wait() // It was killed.
	return b.trouble.String()
}
