package etag_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// What differs has another etag, also where the same letters stand in other fields.
func TestDigest(t *testing.T) {
	t.Parallel()
	empty, a := "", "a"
	seen := map[string]string{}
	for name, fill := range map[string]func(*etag.Digest){
		"nothing":      func(*etag.Digest) {},
		"ab, c":        func(d *etag.Digest) { d.Text("ab"); d.Text("c") },
		"a, bc":        func(d *etag.Digest) { d.Text("a"); d.Text("bc") },
		"a list":       func(d *etag.Digest) { d.Texts([]string{"ab", "c"}) },
		"no text":      func(d *etag.Digest) { d.Optional(nil) },
		"empty text":   func(d *etag.Digest) { d.Optional(&empty) },
		"given text":   func(d *etag.Digest) { d.Optional(&a) },
		"a number":     func(d *etag.Digest) { d.Int(7) },
		"more of them": func(d *etag.Digest) { d.Int(7); d.Int(7) },
		"bytes":        func(d *etag.Digest) { d.Bytes([]byte{1, 2}) },
	} {
		one, two := etag.New(), etag.New()
		fill(one)
		fill(two)
		tag := one.String()
		if len(tag) != 22 || strings.Trim(tag, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%s: %q", name, tag)
		}
		if tag != two.String() || tag != one.String() {
			t.Errorf("%s has two etags", name)
		}
		if other, taken := seen[tag]; taken {
			t.Errorf("%s and %s have one etag", name, other)
		}
		seen[tag] = name
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := errors.Join(etag.Check("flows/1", "", "now"), etag.Check("flows/1", "now", "now")); err != nil {
		t.Error(err)
	}
	var stale *etag.StaleError
	err := etag.Check("flows/1", "then", "now")
	if !errors.As(err, &stale) || *stale != (etag.StaleError{Name: "flows/1", Given: "then", Current: "now"}) {
		t.Errorf("%v", err)
	}
	const want = `flows/1 changed since it was read: its etag is "now" now, and the request is for "then"; read it again and repeat what still makes sense`
	if err.Error() != want {
		t.Errorf("got %s", err)
	}
}
