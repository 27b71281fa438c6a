package main

import (
	"bytes"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

// bareSchema, bareUpdate and bareInsert are the least that a turn can be in SQLite: a state that is replaced, and a row.
const (
	bareSchema = "CREATE TABLE states (n INTEGER PRIMARY KEY, body BLOB NOT NULL); CREATE TABLE rows (n INTEGER PRIMARY KEY, body BLOB NOT NULL); " +
		"INSERT INTO states VALUES (1, ''); PRAGMA user_version = 1"
	bareUpdate = "UPDATE states SET body = ? WHERE n = 1"
	bareInsert = "INSERT INTO rows (body) VALUES (?)"
)

// bareBytes are half of what a turn stores (the row of turn 1,000 says how much).
const bareBytes = 2700

// bare is a database of ours that is told nothing else.
type bare struct {
	db  *durable.DB
	say durable.Statements
}

func openBare(path string) (bare, error) {
	db, err := durable.Open(path, func(db *durable.DB) error { return db.Migrate(1, map[int]string{0: bareSchema}) })
	if err != nil {
		return bare{}, err
	}
	say, err := db.Prepare(bareUpdate, bareInsert)
	return bare{db, say}, err
}

func (b bare) write() error {
	body := bytes.Repeat([]byte("x"), bareBytes)
	return b.db.Transaction(func() error { return errors.Join(b.say.Run(bareUpdate, body), b.say.Run(bareInsert, body)) })
}

func (b bare) close() error { return errors.Join(b.say.Close(), b.db.Close()) }
