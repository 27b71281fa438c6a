package durable

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
)

// bind makes arguments those of the next call.
func (s *statement) bind(args []any) (err error) {
	s.args = s.args[:0]
	for i, arg := range args {
		v := driver.NamedValue{Ordinal: i + 1}
		switch arg := arg.(type) {
		case nil, int64, string, bool, []byte:
			v.Value = arg
		case int:
			v.Value = int64(arg)
		default:
			if v.Value, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return fmt.Errorf("argument %d of a statement: %w", i+1, err)
			}
		}
		s.args = append(s.args, v)
	}
	return nil
}

// scan reads columns as SQLite gives them into variables of their types: a text may be read as bytes, but no text becomes a number, and
// no NULL anything. A variable may be a sql.Scanner.
func scan(from []driver.Value, to []any) error {
	if len(from) != len(to) {
		return fmt.Errorf("a row has %d columns, and %d are read", len(from), len(to))
	}
	for i, column := range from {
		if err := read(column, to[i]); err != nil {
			return fmt.Errorf("column %d of a row: %w", i+1, err)
		}
	}
	return nil
}

func read(column driver.Value, to any) error {
	var ok bool
	switch to := to.(type) {
	case sql.Scanner:
		return to.Scan(column)
	case *string:
		*to, ok = column.(string)
	case *[]byte:
		if *to, ok = column.([]byte); !ok {
			var text string
			text, ok = column.(string)
			*to = []byte(text)
		}
	case *int64:
		*to, ok = column.(int64)
	default:
		ok = readOther(column, reflect.ValueOf(to))
	}
	if !ok {
		return fmt.Errorf("a %T is no %T", column, to)
	}
	return nil
}

// readOther reads a column into a variable of another type: a boolean, and what is a number or a text under another name.
func readOther(column driver.Value, to reflect.Value) bool {
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return false
	}
	to = to.Elem()
	switch column := column.(type) {
	case string:
		if to.Kind() != reflect.String {
			return false
		}
		to.SetString(column)
		return true
	case int64:
		switch {
		case to.Kind() == reflect.Bool && (column == 0 || column == 1):
			to.SetBool(column == 1)
		case to.CanInt() && !to.OverflowInt(column):
			to.SetInt(column)
		case to.CanUint() && column >= 0 && !to.OverflowUint(uint64(column)):
			to.SetUint(uint64(column))
		default:
			return false
		}
		return true
	}
	return false
}
