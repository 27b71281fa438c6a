package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// fixtures are databases of sessions as a version of the program wrote them, a file each: stored/v1.json is of the version 1 of the schema.
const fixtures = "stored"

// dump is a database as text, so that what is stored differently shows in a diff.
type dump struct {
	// Version is that of the schema (PRAGMA user_version), Schema the statements that make it.
	Version int      `json:"version"`
	Schema  []string `json:"schema"`
	// Tables are the rows of each table, by column. A body is JSON where it is, and else a text.
	Tables map[string][]map[string]json.RawMessage `json:"tables"`
}

// bodyColumn is the column that has bytes.
const bodyColumn = "body"

// dumped reads a database, of which nothing else is open.
func dumped(path string) (d dump, err error) {
	db, err := durable.Open(path, func(db *durable.DB) error { return db.Row("PRAGMA user_version").Scan(&d.Version) })
	if err != nil {
		return d, err
	}
	defer db.Close()
	text := func(scan durable.Scanner) (s string, err error) {
		err = scan(&s)
		return s, err
	}
	rows, err := db.Rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name")
	if d.Schema, err = durable.Collect(rows, err, text); err != nil {
		return d, err
	}
	rows, err = db.Rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	names, err := durable.Collect(rows, err, text)
	if err != nil {
		return d, err
	}
	d.Tables = map[string][]map[string]json.RawMessage{}
	for _, name := range names {
		if d.Tables[name], err = tableOf(db, name); err != nil {
			return d, err
		}
	}
	return d, nil
}

// tableOf reads the rows of a table.
func tableOf(db *durable.DB, name string) (all []map[string]json.RawMessage, err error) {
	rows, err := db.Rows("SELECT * FROM " + name)
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return durable.Collect(rows, nil, func(scan durable.Scanner) (map[string]json.RawMessage, error) {
		values := make([]any, len(columns))
		to := make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := scan(to...); err != nil {
			return nil, err
		}
		row := map[string]json.RawMessage{}
		for i, c := range columns {
			body, is := values[i].([]byte)
			if is && compact(body) {
				row[c] = slices.Clone(body)
				continue
			}
			if is {
				values[i] = string(body)
			}
			raw, err := json.Marshal(values[i])
			if err != nil {
				return nil, err
			}
			row[c] = raw
		}
		return row, nil
	})
}

// compact says that a body is an object of JSON without blanks, which can be set in lines and be put together again.
func compact(body []byte) bool {
	var out bytes.Buffer
	return bytes.HasPrefix(body, []byte("{")) && json.Compact(&out, body) == nil && bytes.Equal(out.Bytes(), body)
}

// restore makes the database anew.
func (d dump) restore(path string) error {
	db, err := durable.Open(path, func(db *durable.DB) error {
		return db.Exec(strings.Join(d.Schema, ";\n") + fmt.Sprintf(";\nPRAGMA user_version = %d;", d.Version))
	})
	if err != nil {
		return err
	}
	err = db.Transaction(func() error {
		for table, rows := range d.Tables {
			for _, row := range rows {
				if err := insert(db, table, row); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

func insert(db *durable.DB, table string, row map[string]json.RawMessage) error {
	columns := slices.Sorted(maps.Keys(row))
	values, marks := make([]any, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		var text string
		var number int64
		marks[i] = "?"
		switch raw := row[c]; {
		case c == bodyColumn && bytes.HasPrefix(raw, []byte("{")):
			var body bytes.Buffer
			if err := json.Compact(&body, raw); err != nil {
				return err
			}
			values[i] = body.Bytes()
		case json.Unmarshal(raw, &number) == nil:
			values[i] = number
		case json.Unmarshal(raw, &text) == nil && c == bodyColumn:
			values[i] = []byte(text)
		default:
			values[i] = text
		}
	}
	return insertInto(db, table, columns, marks, values)
}

func insertInto(db *durable.DB, table string, columns, marks []string, values []any) error {
	text := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	say, err := db.Prepare(text)
	if err != nil {
		return err
	}
	return errors.Join(say.Run(text, values...), say.Close())
}

// stockedDump is what this program stores.
func stockedDump(t *testing.T) dump {
	t.Helper()
	k := (&stock{}).over(newRig(t))
	k.fill()
	k.ok(k.store.Close())
	d, err := dumped(k.db)
	k.ok(err)
	return d
}

// TestStoredAsBefore: what this program stores is what the fixtures of its version say, to the byte. Where it is not, sessions that people have
// would not be read, or would lose something without a word.
func TestStoredAsBefore(t *testing.T) {
	t.Parallel()
	d := stockedDump(t)
	if diff := cmp.Diff(d, stockedDump(t)); diff != "" {
		t.Fatalf("it is stored in another way each time:\n%s", diff)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Log(bumped)
		}
	}()
	testkit.Golden(t, fmt.Sprintf("%s/v%d.json", fixtures, d.Version), out.Bytes())
	testkit.Golden(t, fmt.Sprintf("%s/v%d.members.txt", fixtures, d.Version), []byte(strings.Join(members(), "\n")+"\n"))
}

// bumped is what is to be done where something is stored in another way.
const bumped = `Where sessions of this version exist outside of the repository: raise schemaVersion in store/sqlite/schema.go, with what brings them to the new one, and
	go test ./services/agent/internal/turn -run TestStoredAsBefore -update
writes fixtures of it beside the old ones, which stay and are read. Before the first release the same command writes those of version 1 anew.`

// values are what is stored, by what the ids of texts end with where it is a text.
func values() map[string]any {
	return map[string]any{
		"session": &ledger.Session{}, "head": &audit.Head{}, "row": &audit.Row{}, "decision": &gate.Approval{}, "intent": &router.Intent{}, "result": &tool.Result{},
		"approval": &gate.Content{}, "made": &made{}, "submitted": &clienttool.Result{}, "past": &conversation.Exchange{},
	}
}

// members are all members of what is stored, by their types, with the names that they are stored under: also those that no session of the fixture
// has.
func members() []string {
	all := map[string]bool{}
	for _, v := range values() {
		membersOf(reflect.TypeOf(v), all)
	}
	return slices.Sorted(maps.Keys(all))
}

func membersOf(t reflect.Type, all map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		membersOf(t.Elem(), all)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() || f.Tag.Get("json") == "-" {
				continue
			}
			line := fmt.Sprintf("%s.%s %s %q", t, f.Name, f.Type, f.Tag.Get("json"))
			if !all[line] {
				all[line] = true
				membersOf(f.Type, all)
			}
		}
	}
}

// stored are the fixtures of all versions.
func stored(t *testing.T) map[string]dump {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", fixtures, "v*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all := map[string]dump{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var d dump
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[filepath.Base(name)] = d
	}
	return all
}
