package etag_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
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
	now := func() string { return "now" }
	unasked := func() string { t.Error("an etag was made that nobody asked for"); return "now" }
	if err := errors.Join(etag.Check("flows/1", "", unasked), etag.Check("flows/1", "now", now)); err != nil {
		t.Error(err)
	}
	var stale *etag.StaleError
	err := etag.Check("flows/1", "then", now)
	if !errors.As(err, &stale) || *stale != (etag.StaleError{Name: "flows/1", Given: "then", Current: "now"}) {
		t.Errorf("%v", err)
	}
	const want = `flows/1 changed since it was read: its etag is "now" now, and the request is for "then"; read it again and repeat what still makes sense`
	if err.Error() != want {
		t.Errorf("got %s", err)
	}
}

// The hash does not depend on how the values come to it: it is that of all of them in a row, whatever waits in between.
func TestDigestIsTheHashOfAll(t *testing.T) {
	t.Parallel()
	d := etag.New()
	var all []byte
	for i, text := range []string{"", "夜", strings.Repeat("a", 4090), strings.Repeat("夜明け", 3000), "b"} {
		d.Text(text)
		d.Bytes([]byte{byte(i), 1, 2})
		all = binary.LittleEndian.AppendUint64(all, uint64(len(text)))
		all = append(append(all, text...), byte(i), 1, 2)
	}
	for i := range 2000 {
		d.Int(int64(i))
		all = binary.LittleEndian.AppendUint64(all, uint64(i))
	}
	sum := sha256.Sum256(all)
	if got, want := d.String(), base64.RawURLEncoding.EncodeToString(sum[:16]); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
