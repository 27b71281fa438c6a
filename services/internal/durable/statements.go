package durable

import (
	"context"
	"database/sql"
	"errors"
)

// Statements are prepared once; their texts are the keys.
type Statements map[string]*sql.Stmt

// Prepare prepares statements.
func (d *DB) Prepare(texts ...string) (Statements, error) {
	s := Statements{}
	for _, text := range texts {
		stmt, err := d.conn.PrepareContext(context.Background(), text) //nolint:sqlclosecheck // Closed by Statements.Close.
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s[text] = stmt
	}
	return s, nil
}

// Close closes them, before the database.
func (s Statements) Close() error {
	var errs []error
	for _, stmt := range s {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// Run runs one that gives no rows.
func (s Statements) Run(text string, args ...any) error {
	_, err := s[text].ExecContext(context.Background(), args...)
	return err
}

// Changed runs one that gives no rows, and says how many it changed.
func (s Statements) Changed(text string, args ...any) (int64, error) {
	r, err := s[text].ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Row is the one row of one.
func (s Statements) Row(text string, args ...any) *sql.Row {
	return s[text].QueryRowContext(context.Background(), args...)
}

// Rows are the rows of one. Collect reads and closes them.
func (s Statements) Rows(text string, args ...any) (*sql.Rows, error) {
	return s[text].QueryContext(context.Background(), args...)
}

// Scanner reads the columns of a row.
type Scanner func(columns ...any) error

// Collect reads the rows of a query, and closes it.
func Collect[T any](rows *sql.Rows, err error, read func(Scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []T
	for rows.Next() {
		one, err := read(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}
