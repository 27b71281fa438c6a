package peer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// connections of the transactions without DBOS: more are no faster on two processors (field/perf.md 6).
const connections = 16

// Workflows are those of DBOS in a PostgreSQL of their own, and a table beside them.
type Workflows struct {
	server *Postgres
	dbos   dbos.Context
	pool   *pgxpool.Pool
}

// steps is a workflow of so many steps, each of which keeps a state.
func steps(ctx dbos.Context, n int) (int, error) {
	for range n {
		if _, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return string(state), nil }); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// StartWorkflows starts PostgreSQL in a folder, and DBOS over it. An error says what is missing.
func StartWorkflows(ctx context.Context, dir string) (*Workflows, error) {
	server, err := StartPostgres(ctx, dir)
	if err != nil {
		return nil, err
	}
	w := &Workflows{server: server}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Workflows) start(ctx context.Context) (err error) {
	c, err := pgxpool.ParseConfig(w.server.URL)
	if err != nil {
		return err
	}
	c.MaxConns = connections
	if w.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return err
	}
	if _, err = w.pool.Exec(ctx, `CREATE TABLE states (id INT PRIMARY KEY, body BYTEA NOT NULL); CREATE TABLE audit (n BIGSERIAL PRIMARY KEY, body BYTEA NOT NULL);
		INSERT INTO states SELECT i, '' FROM generate_series(0, 63) AS i`); err != nil {
		return err
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	if w.dbos, err = dbos.NewContext(ctx, dbos.Config{DatabaseURL: w.server.URL, AppName: "bench", Logger: quiet}); err != nil {
		return err
	}
	dbos.RegisterWorkflow(w.dbos, steps)
	return dbos.Launch(w.dbos)
}

// Rate has so many workflows at once, of as many steps together, and gives the steps per second.
func (w *Workflows) Rate(workflows, all int) (float64, error) {
	begin := time.Now()
	var group errgroup.Group
	for range workflows {
		group.Go(func() error {
			h, err := dbos.RunWorkflow(w.dbos, steps, all/workflows)
			if err == nil {
				_, err = h.GetResult()
			}
			return err
		})
	}
	err := group.Wait()
	return float64(all) / time.Since(begin).Seconds(), err
}

// Steps has so many transactions of an UPDATE and an INSERT, in one round trip each, and gives those per second.
func (w *Workflows) Steps(ctx context.Context, all int) (float64, error) {
	var next atomic.Int64
	begin := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range connections {
		group.Go(func() error {
			for i := next.Add(1); i <= int64(all); i = next.Add(1) {
				var b pgx.Batch
				b.Queue("BEGIN")
				b.Queue("UPDATE states SET body = $2 WHERE id = $1", i%64, state)
				b.Queue("INSERT INTO audit (body) VALUES ($1)", row)
				b.Queue("COMMIT")
				if err := w.pool.SendBatch(ctx, &b).Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(all) / time.Since(begin).Seconds(), err
}

// Close stops all of it.
func (w *Workflows) Close() error {
	var err error
	if w.dbos != nil {
		err = dbos.Shutdown(w.dbos, 5*time.Second)
	}
	if w.pool != nil {
		w.pool.Close()
	}
	return errors.Join(err, w.server.Close())
}
