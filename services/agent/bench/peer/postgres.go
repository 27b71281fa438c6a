package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is a server of its own, with the settings of an installation but for shared_buffers, and durable.
type Postgres struct {
	cmd *exec.Cmd
	// URL is how it is reached.
	URL string
}

// bin is where Debian puts the programs of PostgreSQL.
const bin = "/usr/lib/postgresql/*/bin"

func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	found, err := filepath.Glob(filepath.Join(bin, name))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("there is no %s: install PostgreSQL", name)
	}
	return found[len(found)-1], nil
}

// StartPostgres makes a database in a new folder and starts a server over it. An error says what is missing.
func StartPostgres(ctx context.Context, dir string) (*Postgres, error) {
	initdb, errInit := program("initdb")
	server, errServer := program("postgres")
	dir, errDir := filepath.Abs(dir)
	if err := errors.Join(errInit, errServer, errDir); err != nil {
		return nil, err
	}
	as, err := owner(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	made := exec.CommandContext(ctx, initdb, "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C")
	made.SysProcAttr, made.Dir = as, dir
	if out, err := made.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %.300s", err, out)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	p := &Postgres{URL: "postgres://bench@127.0.0.1:" + strconv.Itoa(port) + "/postgres?sslmode=disable"}
	p.cmd = exec.CommandContext(ctx, server, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "shared_buffers=256MB", "-c", "logging_collector=off", "-c", "log_min_messages=fatal")
	p.cmd.SysProcAttr, p.cmd.Dir = as, dir
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// wait waits until the server answers.
func (p *Postgres) wait(ctx context.Context) error {
	var err error
	for range 300 {
		var pool *pgxpool.Pool
		if pool, err = pgxpool.New(ctx, p.URL); err == nil {
			err = pool.Ping(ctx)
			pool.Close()
		}
		if err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(fmt.Errorf("PostgreSQL does not answer: %w", err), p.Close())
}

// Close stops the server.
func (p *Postgres) Close() error {
	_ = p.cmd.Process.Signal(os.Interrupt) // fast shutdown
	if err := p.cmd.Wait(); err != nil && !strings.Contains(err.Error(), "signal") {
		return err
	}
	return nil
}
