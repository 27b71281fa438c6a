package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// hash is a hash of the same digit.
func hash(digit string) string { return strings.Repeat(digit, 64) }

var start = time.Date(2026, 5, 1, 9, 0, 0, 123456789, time.UTC)

// entry is a complete row of a kind.
func entry(kind audit.Kind) audit.Entry {
	return audit.Entry{
		Time: start, Namespace: "default", Session: "s1", Task: "t1", Turn: "u1", Actor: audit.Actor{Name: "policy", Kind: audit.Policy}, Kind: kind,
		Verdict: "ALLOWED", Reason: "規則 <r-1> & more\u2028", CallHash: hash("a"), Digest: hash("b"), ArgsDigest: hash("c"),
		Before: audit.Absent, After: hash("d"), Details: `{"rule":"r-1","行":["<a>",1.50]}`,
	}
}

func newKeys(t testing.TB, current string, ids ...string) *audit.Keys {
	t.Helper()
	m := map[string][]byte{}
	for _, id := range append(ids, current) {
		m[id] = bytes.Repeat([]byte(id), 32)
	}
	k, err := audit.NewKeys(current, m)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// chain makes rows of the kinds, one second apart, and the heads before and after each.
func chain(t testing.TB, k *audit.Keys, session string, kinds ...audit.Kind) (rows []audit.Row, heads []audit.Head) {
	t.Helper()
	heads = []audit.Head{k.Begin("default", session)}
	for i, kind := range kinds {
		e := entry(kind)
		e.Session, e.Time = session, start.Add(time.Duration(i)*time.Second)
		r, h, err := k.Append(heads[i], e)
		if err != nil {
			t.Fatal(err)
		}
		rows, heads = append(rows, r), append(heads, h)
	}
	return rows, heads
}

func each(rows []audit.Row) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// fault is the place and the kind of what is wrong, as "3 CHANGED"; empty if nothing is.
func fault(t testing.TB, err error) string {
	t.Helper()
	var bad *audit.BadRow
	if err == nil {
		return ""
	}
	if !errors.As(err, &bad) {
		t.Fatalf("no *BadRow: %v", err)
	}
	return fmt.Sprintf("%d %s", bad.Seq, bad.Fault)
}

func export(t testing.TB, h audit.Head, rows []audit.Row) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := audit.Export(&b, h, each(rows)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var six = []audit.Kind{audit.Allow, audit.Deny, audit.Expiry, audit.Refusal, audit.Transition, audit.Failure, audit.Execute}

// An exported record verifies; a byte in row 3, row 5 gone, two rows cut from the end, 2 and 4 swapped are each found at the first
// bad row, and no row has an empty field that c23 asks for.
func TestAgent23RecordIsVerified(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, heads := chain(t, k, "s1", six...)
	head := heads[len(heads)-1]
	report, err := k.VerifyExport(bytes.NewReader(export(t, head, rows)), "default", "s1")
	want := audit.Report{Rows: 7, Last: 7, Keys: map[string]uint64{"k1": 7}, HeadChecked: true, HeadSeq: 7}
	if diff := cmp.Diff(want, report); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, r := range rows {
		if r.ArgsDigest == "" || r.Actor.Name == "" || r.Verdict == "" || r.Reason == "" || r.Prev == "" || r.MAC == "" {
			t.Errorf("row %d is not complete: %+v", r.Seq, r)
		}
	}
	for name, tt := range map[string]struct {
		rows []audit.Row
		want string
	}{
		"a byte in row 3": {with(rows, 2, func(r *audit.Row) { r.Reason = strings.Replace(r.Reason, "r", "s", 1) }), "3 CHANGED"},
		"row 5 is gone":   {slices.Delete(slices.Clone(rows), 4, 5), "5 MISSING"},
		"row 1 is gone":   {rows[1:], "1 MISSING"},
		"cut":             {rows[:5], "6 CUT"},
		"all is cut":      {nil, "1 CUT"},
		"2 and 4 swapped": {[]audit.Row{rows[0], rows[3], rows[2], rows[1], rows[4], rows[5], rows[6]}, "2 SWAPPED"},
		"row 2 twice":     {slices.Insert(slices.Clone(rows), 2, rows[1]), "3 REPEATED"},
	} {
		for _, h := range []audit.Head{head, heads[6]} {
			if _, err := k.VerifyExport(bytes.NewReader(export(t, head, tt.rows)), "default", "s1", h); fault(t, err) != tt.want {
				t.Errorf("%s: %v, want %s", name, err, tt.want)
			}
		}
	}
	// The export's own head may be cut with it: the one that was kept apart knows.
	if _, err := k.VerifyExport(bytes.NewReader(export(t, heads[5], rows[:5])), "default", "s1"); err != nil {
		t.Errorf("a shorter record with its own head is in itself whole: %v", err)
	}
	if _, err := k.VerifyExport(bytes.NewReader(export(t, heads[5], rows[:5])), "default", "s1", head); fault(t, err) != "6 CUT" {
		t.Errorf("%v, want 6 CUT", err)
	}
	if report, err := k.Verify(each(rows[:5]), audit.Chain{Namespace: "default", Session: "s1"}); err != nil || report.HeadChecked {
		t.Errorf("without a head nothing may be said of the end: %+v %v", report, err)
	}
}

// with gives the rows with one of them changed.
func with(rows []audit.Row, i int, change func(*audit.Row)) []audit.Row {
	rows = slices.Clone(rows)
	change(&rows[i])
	return rows
}

// No byte of an export can be changed, taken away or doubled without being found, and what is found is at that row or, for the
// number of a row or its key, told as such.
func TestEveryByteOfAnExport(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, heads := chain(t, k, "s1", audit.Allow, audit.Intent, audit.Execute)
	whole := export(t, heads[3], rows)
	line := 0
	for i, b := range whole {
		for name, changed := range map[string][]byte{
			"low bit":  slices.Concat(whole[:i], []byte{b ^ 1}, whole[i+1:]),
			"case bit": slices.Concat(whole[:i], []byte{b ^ 0x20}, whole[i+1:]),
			"high bit": slices.Concat(whole[:i], []byte{b ^ 0x80}, whole[i+1:]),
			"gone":     slices.Concat(whole[:i], whole[i+1:]),
			"blank":    slices.Concat(whole[:i], []byte{' '}, whole[i:]),
		} {
			_, err := k.VerifyExport(bytes.NewReader(changed), "default", "s1")
			var bad *audit.BadRow
			if !errors.As(err, &bad) {
				t.Fatalf("byte %d (%q), %s: not found", i, whole[max(0, i-20):min(len(whole), i+20)], name)
			}
			if line > 0 && bad.Seq != uint64(line) && b != '\n' {
				t.Errorf("byte %d of row %d, %s: found in row %d: %v", i, line, name, bad.Seq, err)
			}
		}
		if b == '\n' {
			line++
		}
	}
}

// Whatever is done to rows and heads, of this session or with rows of another, the first place that is not as it was is named.
func TestTamperedRecords(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	other, _ := chain(t, k, "s2", slices.Repeat([]audit.Kind{audit.Deny}, 10)...)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 10).Draw(rt, "rows")
		rows, heads := chain(t, k, "s1", slices.Repeat([]audit.Kind{audit.Allow}, n)...)
		fork, _, err := k.Append(heads[n-1], entryAt(n, "another history"))
		if err != nil {
			rt.Fatal(err)
		}
		i := rapid.IntRange(0, n-1).Draw(rt, "at")
		j := rapid.IntRange(0, n-1).Filter(func(j int) bool { return j != i }).Draw(rt, "and")
		at := func(i int, f audit.Fault) string { return fmt.Sprintf("%d %s", i+1, f) }
		changed, want := slices.Clone(rows), ""
		switch rapid.SampledFrom([]string{"nothing", "gone", "cut", "swapped", "other", "fork", "changed", "key", "old row"}).Draw(rt, "what") {
		case "gone":
			changed, want = slices.Delete(changed, i, i+1), at(i, audit.Missing)
			if i == n-1 {
				want = at(i, audit.Cut)
			}
		case "cut":
			changed, want = changed[:i], at(i, audit.Cut)
		case "swapped":
			changed[i], changed[j] = changed[j], changed[i]
			want = at(min(i, j), audit.Swapped)
		case "other":
			changed[i], want = other[i], at(i, audit.OtherSession)
		case "fork":
			// It is genuine and in its place; only the head knows that another row stood there.
			changed[n-1], want = fork, at(n-1, audit.BadHead)
		case "changed":
			changed[i].Verdict, want = "DENIED", at(i, audit.Changed)
		case "key":
			changed[i].KeyID, want = "k9", at(i, audit.UnknownKey)
		case "old row":
			// The number is changed with it, as a row in a table could be.
			changed[i] = rows[j]
			changed[i].Seq, want = rows[i].Seq, at(i, audit.Changed)
		}
		_, err = k.Verify(each(changed), audit.Chain{Namespace: "default", Session: "s1", Heads: heads[n:]})
		if got := fault(t, err); got != want {
			rt.Fatalf("%q, want %q", got, want)
		}
	})
}

func entryAt(n int, reason string) audit.Entry {
	e := entry(audit.Deny)
	e.Time, e.Reason = start.Add(time.Duration(n)*time.Second), reason
	return e
}

// A row that follows another row than the one before it is genuine and still found.
func TestForkedRecord(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, heads := chain(t, k, "s1", audit.Allow, audit.Intent, audit.Execute)
	fork, _, err := k.Append(heads[1], entryAt(1, "another history"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Verify(each([]audit.Row{rows[0], fork, rows[2]}), audit.Chain{Namespace: "default", Session: "s1"})
	if fault(t, err) != "3 FORKED" {
		t.Error(err)
	}
}

// After a rotation old rows verify with the old key; without it the id of the missing key is told.
func TestRotation(t *testing.T) {
	t.Parallel()
	first, both, second := newKeys(t, "k1"), newKeys(t, "k2", "k1"), newKeys(t, "k2")
	rows, heads := chain(t, first, "s1", audit.Allow, audit.Intent)
	e := entryAt(3, "rotated")
	r, head, err := both.Append(heads[2], e)
	if err != nil {
		t.Fatal(err)
	}
	rows = append(rows, r)
	c := audit.Chain{Namespace: "default", Session: "s1", Heads: []audit.Head{head, heads[1]}}
	report, err := both.Verify(each(rows), c)
	if diff := cmp.Diff(map[string]uint64{"k1": 2, "k2": 1}, report.Keys); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	c.Heads = c.Heads[:1]
	if _, err := second.Verify(each(rows), c); fault(t, err) != "1 UNKNOWN_KEY" || !strings.Contains(err.Error(), `"k1"`) {
		t.Error(err)
	}
	if _, _, err := second.Append(heads[2], e); err == nil || !strings.Contains(err.Error(), `"k1"`) {
		t.Errorf("a head of an unknown key is gone on from: %v", err)
	}
}

// A head cannot be made or moved without the key, and a record whose older rows were removed verifies from the head of those on.
func TestHeads(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, heads := chain(t, k, "s1", six...)
	for name, change := range map[string]func(*audit.Head){
		"a shorter one": func(h *audit.Head) { h.Seq, h.MAC = 5, rows[4].MAC }, "another session": func(h *audit.Head) { h.Session = "s2" },
		"another time": func(h *audit.Head) { h.Time = h.Time.Add(-time.Hour) }, "another namespace": func(h *audit.Head) { h.Namespace = "x" },
	} {
		h := heads[7]
		change(&h)
		_, err := k.Verify(each(rows[:5]), audit.Chain{Namespace: "default", Session: "s1", Heads: []audit.Head{h}})
		if !strings.HasSuffix(fault(t, err), " BAD_HEAD") {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := k.Append(h, entryAt(9, "behind it")); err == nil {
			t.Errorf("%s: a row is put behind it", name)
		}
	}
	later := audit.Chain{Namespace: "default", Session: "s1", After: &heads[3], Heads: heads[7:]}
	if report, err := k.Verify(each(rows[3:]), later); err != nil || report.Rows != 4 || report.Last != 7 {
		t.Errorf("%+v %v", report, err)
	}
	if _, err := k.Verify(each(rows[4:]), later); fault(t, err) != "4 MISSING" {
		t.Error(err)
	}
	later.After = nil
	if _, err := k.Verify(each(rows[3:]), later); fault(t, err) != "1 MISSING" {
		t.Error(err)
	}
	// Two heads of one place that know of different rows: one of them is of another history.
	_, fork, err := k.Append(heads[2], entryAt(2, "another history"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(each(rows[3:]), audit.Chain{Namespace: "default", Session: "s1", After: &heads[3], Heads: []audit.Head{fork}}); fault(t, err) != "3 BAD_HEAD" {
		t.Error(err)
	}
	_, two := chain(t, k, "s2", audit.Allow)
	if _, err := k.Verify(each(rows), audit.Chain{Namespace: "default", Session: "s1", Heads: two[1:]}); fault(t, err) != "1 BAD_HEAD" {
		t.Error(err)
	}
}

// A row that lacks what its kind needs, or whose fields are not what they are for, is not made, and all of it is said at once.
func TestIncompleteRows(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	head := k.Begin("default", "s1")
	all := []audit.Kind{
		audit.Create, audit.Update, audit.Delete, audit.Turn, audit.Transition, audit.Refusal, audit.Aside, audit.Submit, audit.Fatal, audit.Allow, audit.Deny, audit.Ask,
		audit.Approve, audit.LateDenial, audit.Edit, audit.Extend, audit.Expiry, audit.Supersede, audit.Cancel, audit.Void, audit.Rule, audit.Intent,
		audit.Execute, audit.Failure, audit.UnknownOutcome, audit.Outcome,
	}
	without := map[string]func(*audit.Entry){
		"args_digest": func(e *audit.Entry) { e.ArgsDigest = "" }, "call_hash": func(e *audit.Entry) { e.CallHash = "" },
		"are both empty": func(e *audit.Entry) { e.CallHash, e.Digest = "", "" },
	}
	lacking := map[string]int{}
	for _, kind := range all {
		if _, _, err := k.Append(head, entry(kind)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for name, change := range without {
			e := entry(kind)
			change(&e)
			if _, _, err := k.Append(head, e); err != nil && strings.Contains(err.Error(), name) {
				lacking[name]++
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"args_digest": 19, "call_hash": 8, "are both empty": 9}, lacking); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*audit.Entry){
		"namespace": func(e *audit.Entry) { e.Namespace = "" }, "session": func(e *audit.Entry) { e.Session = "" },
		"actor.name": func(e *audit.Entry) { e.Actor.Name = "" }, "actor.kind": func(e *audit.Entry) { e.Actor.Kind = "robot" },
		"kind": func(e *audit.Entry) { e.Kind = "" }, `no kind "x"`: func(e *audit.Entry) { e.Kind = "x" },
		"verdict": func(e *audit.Entry) { e.Verdict = "" }, "one word": func(e *audit.Entry) { e.Verdict = "ok then" },
		"reason": func(e *audit.Entry) { e.Reason = "" }, "time": func(e *audit.Entry) { e.Time = time.Time{} },
		"digest is not": func(e *audit.Entry) { e.Digest = "sha256:" + hash("b") }, "call_hash": func(e *audit.Entry) { e.CallHash = strings.ToUpper(e.CallHash) },
		"before": func(e *audit.Entry) { e.Before = "none" }, "args_digest": func(e *audit.Entry) { e.ArgsDigest = audit.Absent },
		"details": func(e *audit.Entry) { e.Details = `{"a": 1}` }, "details are": func(e *audit.Entry) { e.Details = `[1]` },
		"UTF-8": func(e *audit.Entry) { e.Reason = "\xff" }, "at most 4096": func(e *audit.Entry) { e.Reason = strings.Repeat("x", 5000) },
		"at most 65536": func(e *audit.Entry) { e.Details = fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 70000)) },
		"sessions/s2":   func(e *audit.Entry) { e.Session = "s2" }, "not an object of JSON": func(e *audit.Entry) { e.Details = `{"a":` },
	} {
		e := entry(audit.Allow)
		change(&e)
		var wrong *audit.EntryError
		if r, h, err := k.Append(head, e); !errors.As(err, &wrong) || !strings.Contains(err.Error(), name) || r.MAC != "" || h.MAC != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := k.Append(head, audit.Entry{})
	for _, name := range []string{"namespace", "session", "actor.name", "actor.kind", "kind", "verdict", "reason", "time"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not told at once with the others: %v", name, err)
		}
	}
	_, heads := chain(t, k, "s1", audit.Allow, audit.Deny)
	if _, _, err := k.Append(heads[2], entry(audit.Allow)); err == nil || !strings.Contains(err.Error(), "before that of the last row") {
		t.Errorf("a row before the last one: %v", err)
	}
}

// A row comes back from JSON as it went, wherever it was stored between, and verifies.
func TestRowsAreStored(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, heads := chain(t, k, "s1", six...)
	var back []audit.Row
	for _, r := range rows {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got audit.Row
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		back = append(back, got)
	}
	if diff := cmp.Diff(rows, back); diff != "" {
		t.Error(diff)
	}
	if _, err := k.Verify(each(back), audit.Chain{Namespace: "default", Session: "s1", Heads: heads[7:]}); err != nil {
		t.Error(err)
	}
}

// The zone of a clock is not under the code: a row is in UTC wherever it was made, and verifies when it is read back.
func TestTimesAreInUTC(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	e := entry(audit.Allow)
	e.Time = start.In(time.FixedZone("JST", 9*60*60))
	r, h, err := k.Append(k.Begin("default", "s1"), e)
	if err != nil {
		t.Fatal(err)
	}
	if want := "2026-05-01T09:00:00.123456789Z"; r.Time.Format(time.RFC3339Nano) != want || h.Time.Format(time.RFC3339Nano) != want {
		t.Errorf("%v, %v, want %s", r.Time, h.Time, want)
	}
	if _, err := k.VerifyExport(bytes.NewReader(export(t, h, []audit.Row{r})), "default", "s1"); err != nil {
		t.Error(err)
	}
}

// Verify holds one row at a time and stops at the first bad one; an error of the store is not taken for the end.
func TestVerifyStops(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	rows, _ := chain(t, k, "s1", six...)
	rows[2].Turn = "x"
	taken := 0
	counted := func(yield func(audit.Row, error) bool) {
		for _, r := range rows {
			taken++
			if !yield(r, nil) {
				return
			}
		}
	}
	if _, err := k.Verify(counted, audit.Chain{Namespace: "default", Session: "s1"}); fault(t, err) != "3 CHANGED" || taken != 3 {
		t.Errorf("%v after %d rows", err, taken)
	}
	broken := errors.New("the disk is gone")
	failing := func(yield func(audit.Row, error) bool) { _ = yield(rows[0], nil) && yield(audit.Row{}, broken) }
	if _, err := k.Verify(failing, audit.Chain{Namespace: "default", Session: "s1"}); fault(t, err) != "2 UNREADABLE" || !errors.Is(err, broken) {
		t.Error(err)
	}
}

// Keys that are too short or have no usable id are refused at start, all at once, and no format prints a key.
func TestKeys(t *testing.T) {
	t.Parallel()
	_, err := audit.NewKeys("gone", map[string][]byte{"a b": bytes.Repeat([]byte{1}, 32), "short": []byte("secret")})
	for _, want := range []string{`"a b"`, `"short" has 6 bytes; it needs at least 32`, `no key "gone"`} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	k, err := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("secret", 8))})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, k); strings.Contains(s, "secret") || strings.Contains(s, "115, 101") || strings.Contains(s, "0x73") {
			t.Errorf("%s prints the key: %s", format, s)
		}
	}
}

func FuzzImport(f *testing.F) {
	k := newKeys(f, "k1")
	rows, heads := chain(f, k, "s1", audit.Allow, audit.Execute)
	whole := export(f, heads[2], rows)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(export(f, heads[1], rows[:1]))
	f.Add([]byte(`{"tsumugi_audit":2}` + "\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		head, read, err := audit.Import(bytes.NewReader(b))
		if err != nil {
			return
		}
		var got []audit.Row
		for r, err := range read {
			if err != nil {
				return
			}
			got = append(got, r)
		}
		var again bytes.Buffer
		if err := audit.Export(&again, head, each(got)); err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Fatalf("read and not written the same: %v", err)
		}
		if _, err := k.VerifyExport(bytes.NewReader(b), "default", "s1"); err == nil && !bytes.Equal(b, whole) && !bytes.Equal(b, export(t, heads[1], rows[:1])) {
			t.Fatal("a record that we did not make verifies")
		}
	})
}

// An empty file is told as that, and not as the end of something.
func TestImportOfNothing(t *testing.T) {
	t.Parallel()
	if _, _, err := audit.Import(bytes.NewReader(nil)); err == nil || !strings.HasPrefix(err.Error(), "it is empty; ") {
		t.Errorf("%v", err)
	}
}

// An INTENT that says that a call was approved follows the row of whoever approved it: without that it is the first bad row, though its code fits. A call
// by the digest of its caller's own dry run has no such row, and one that policy allowed needs none.
func TestAnIntentWithoutConsent(t *testing.T) {
	t.Parallel()
	k := newKeys(t, "k1")
	intent := func(reason, approval string) audit.Entry {
		e := entry(audit.Intent)
		e.Reason, e.Details = reason, `{"approval":"`+approval+`"}`
		return e
	}
	consent, other := entry(audit.Approve), entry(audit.Approve)
	other.Digest = hash("e")
	approved := intent(audit.WasApproved, "a1")
	for name, c := range map[string]struct {
		rows []audit.Entry
		want string
	}{
		"approved":          {[]audit.Entry{entry(audit.Ask), consent, approved, approved}, ""},
		"approved too late": {[]audit.Entry{entry(audit.Ask), approved, consent}, "2 UNAPPROVED"},
		"another one":       {[]audit.Entry{entry(audit.Ask), other, approved}, "3 UNAPPROVED"},
		"asked for":         {[]audit.Entry{entry(audit.Ask), approved}, "2 UNAPPROVED"},
		"a dry run":         {[]audit.Entry{intent(audit.WasApproved, audit.DryRun+"/1/ann")}, ""},
		"allowed":           {[]audit.Entry{intent("the policy allows it", "")}, ""},
	} {
		rows, head, err := k.Extend(k.Begin("default", "s1"), c.rows...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Verify(each(rows), audit.Chain{Namespace: "default", Session: "s1", Heads: []audit.Head{head}})
		if c.want == "" && err != nil || c.want != "" && fault(t, err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := k.Verify(each(rows[len(rows)-1:]), audit.Chain{Namespace: "default", Session: "s1", After: after(t, k, c.rows)}); err != nil {
			t.Errorf("%s: behind rows that were removed: %v", name, err)
		}
	}
}

// after is the head before the last of the rows of some entries.
func after(t *testing.T, k *audit.Keys, entries []audit.Entry) *audit.Head {
	t.Helper()
	_, head, err := k.Extend(k.Begin("default", "s1"), entries[:len(entries)-1]...)
	if err != nil {
		t.Fatal(err)
	}
	return &head
}
