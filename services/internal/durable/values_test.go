package durable

import (
	"database/sql/driver"
	"errors"
	"testing"
)

type kind string

type scanned struct{ got any }

func (s *scanned) Scan(column any) error {
	s.got = column
	return nil
}

// TestScan: a column is read as what it is, under whatever name the type has, or the error says what it is and what was wanted.
func TestScan(t *testing.T) {
	t.Parallel()
	var (
		text  string
		bytes []byte
		large int64
		small int8
		word  kind
		count uint16
		yes   bool
		own   scanned
	)
	from := []driver.Value{"a", []byte("b"), int64(1) << 40, int64(-7), "TOOL", int64(65535), int64(1), nil}
	if err := scan(from, []any{&text, &bytes, &large, &small, &word, &count, &yes, &own}); err != nil {
		t.Fatal(err)
	}
	if text != "a" || string(bytes) != "b" || large != 1<<40 || small != -7 || word != "TOOL" || count != 65535 || !yes || own.got != nil {
		t.Error(text, bytes, large, small, word, count, yes, own)
	}
	if err := scan([]driver.Value{"c"}, []any{&bytes}); err != nil || string(bytes) != "c" {
		t.Errorf("%q, %v", bytes, err)
	}
	for _, bad := range []struct {
		column driver.Value
		to     any
	}{
		{nil, &text}, {nil, &bytes}, {nil, &large}, {nil, &small}, {"1", &large}, {"1", &small}, {int64(1), &text}, {int64(1), &word}, {int64(1), &bytes},
		{int64(200), &small}, {int64(-1), &count}, {int64(2), &yes}, {2.5, &large}, {"a", text}, {"a", (*kind)(nil)}, {"a", nil}, {[]byte("a"), &word},
	} {
		if err := scan([]driver.Value{bad.column}, []any{bad.to}); err == nil {
			t.Errorf("%T is read into %T", bad.column, bad.to)
		}
	}
	if err := scan(from, []any{&text}); err == nil {
		t.Error("seven columns are left")
	}
}

// TestBind: an argument under whatever name is one of SQLite's values, and one that is none is refused.
func TestBind(t *testing.T) {
	t.Parallel()
	var s statement
	if err := s.bind([]any{nil, 1, uint8(2), kind("a"), true, []byte("b")}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []driver.Value{nil, int64(1), int64(2), "a", true} {
		if got := s.args[i]; got.Value != want || got.Ordinal != i+1 {
			t.Errorf("%d: %v", i, got)
		}
	}
	if err := s.bind([]any{errors.New("no value")}); err == nil {
		t.Error("an error is bound")
	}
}
