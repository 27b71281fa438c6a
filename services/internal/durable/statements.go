package durable

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
)

// Statements are prepared once; their texts are the keys. They are told to the driver itself: what database/sql does beside (it looks
// after connections, contexts and rows that are left open, of which there are none here) takes more than many of them.
type Statements map[string]*statement

type statement struct {
	conn *sql.Conn
	stmt driver.Stmt
	// args are those of the call that is under way.
	args []driver.NamedValue
}

// Prepare prepares statements.
func (d *DB) Prepare(texts ...string) (Statements, error) {
	s := Statements{}
	for _, text := range texts {
		one := &statement{conn: d.conn}
		err := d.conn.Raw(func(c any) (err error) {
			one.stmt, err = c.(driver.ConnPrepareContext).PrepareContext(context.Background(), text)
			return err
		})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s[text] = one
	}
	return s, nil
}

// Close closes them, before the database.
func (s Statements) Close() error {
	var errs []error
	for _, one := range s {
		errs = append(errs, one.conn.Raw(func(any) error { return one.stmt.Close() }))
	}
	return errors.Join(errs...)
}

// Run runs one that gives no rows.
func (s Statements) Run(text string, args ...any) error {
	_, err := s.Changed(text, args...)
	return err
}

// Changed runs one that gives no rows, and says how many it changed.
func (s Statements) Changed(text string, args ...any) (changed int64, err error) {
	one := s[text]
	err = one.conn.Raw(func(any) error {
		defer one.forget()
		if err := one.bind(args); err != nil {
			return err
		}
		r, err := one.stmt.(driver.StmtExecContext).ExecContext(context.Background(), one.args)
		if err == nil {
			changed, err = r.RowsAffected()
		}
		return err
	})
	return changed, err
}

// Row is the one row of one.
func (s Statements) Row(text string, args ...any) Row {
	r := Row{err: sql.ErrNoRows}
	err := s[text].rows(args, func(rows driver.Rows) error {
		r.columns = make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(r.columns); !errors.Is(err, io.EOF) {
			r.err = err
		}
		return nil
	})
	if err != nil {
		r.err = err
	}
	return r
}

// Row is a row that was asked for, or why there is none: sql.ErrNoRows.
type Row struct {
	columns []driver.Value
	err     error
}

// Scan reads its columns.
func (r Row) Scan(columns ...any) error {
	if r.err != nil {
		return r.err
	}
	return scan(r.columns, columns)
}

// List reads the rows of one. read asks nothing of the database meanwhile.
func List[T any](s Statements, text string, read func(Scanner) (T, error), args ...any) (list []T, err error) {
	err = s[text].rows(args, func(rows driver.Rows) error {
		columns := make([]driver.Value, len(rows.Columns()))
		for {
			if err := rows.Next(columns); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			one, err := read(func(to ...any) error { return scan(columns, to) })
			if err != nil {
				return err
			}
			list = append(list, one)
		}
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// rows asks for rows and closes them.
func (s *statement) rows(args []any, read func(driver.Rows) error) error {
	return s.conn.Raw(func(any) error {
		defer s.forget()
		if err := s.bind(args); err != nil {
			return err
		}
		rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.args)
		if err != nil {
			return err
		}
		return errors.Join(read(rows), rows.Close())
	})
}

// forget lets go of what a call brought: it may be large.
func (s *statement) forget() { clear(s.args) }

// Scanner reads the columns of a row.
type Scanner func(columns ...any) error

// Collect reads the rows of a query that was not prepared, and closes it.
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
