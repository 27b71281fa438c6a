package main

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// sqlite keeps nodes as rows, each INSERT a transaction that is synced before it returns. Callers take turns at one
// connection: with several, SQLite has them wait for each other's locks, which is slower.
type sqlite struct {
	db     *sql.DB
	insert *sql.Stmt
}

func openSQLite(ctx context.Context, path string) (*sqlite, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE nodes (id BLOB PRIMARY KEY, created INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID"); err != nil {
		return nil, err
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO nodes VALUES (?, ?, ?)")
	return &sqlite{db, insert}, err
}

func (s *sqlite) create(ctx context.Context, n node.Node) error {
	n.ID = uuid.Must(uuid.NewV7())
	_, err := s.insert.ExecContext(ctx, n.ID[:], n.Created.UnixMicro(), format.EncodeNode(n))
	return err
}

func (s *sqlite) close() error { return s.db.Close() }
