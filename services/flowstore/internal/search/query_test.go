package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

func wrong(t *testing.T, text string) []search.Violation {
	t.Helper()
	q, err := search.Parse(text)
	bad := (*search.QueryError)(nil)
	if !errors.As(err, &bad) || q != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return bad.Violations
}

// Each mistake is told with its place, what stands there, and what would be right.
func TestQueriesThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "1|| is empty; write a word, or a filter such as tag:draft",
		" 　\n":                      "1|| is empty; write a word, or a filter such as tag:draft",
		"夜 \"港":                     `3|"港| has no closing quotation mark; put one at its end`,
		`夜 "港"の`:                    `3|"港"の| goes on behind its closing quotation mark; put a blank there, or write "" for a mark within`,
		`夜 ""`:                      `3|""| holds nothing to look for; write a word`,
		`夜 - 港`:                     `3|-| stands alone; put the word that nodes must not hold behind it, or write "-"`,
		"夜 tag:":                    "7|tag:| has no value; write tag:draft",
		"tag:夜,,駅":                  "7|tag:夜,,駅| has no value; write tag:draft",
		"flow: 夜":                   `6|flow:| has no value; write flow:"the name of a flow"`,
		"role:writer":               "6|role:writer| names no role; a role is one of user, assistant, system, tool",
		"role:user role:tool":       "11|role:tool| is the second role:; write one, with a comma between the values",
		"-role:user":                "1|-role:user| cannot have a hyphen before it; write it without",
		"model:a model:b":           "9|model:b| is the second model:; write one, with a comma between the values",
		"-after:2026":               "1|-after:2026| cannot have a hyphen before it; write it without",
		"after:2026 after:2027":     "12|after:2027| is the second after:; write one",
		"after:2026,2027":           "1|after:2026,2027| has 2 values; write one time, such as after:2026-05-01",
		"before:2026-02-30":         "1|before:2026-02-30| has no time; write a year, a month, a day or a time: before:2026, before:2026-05, before:2026-05-01, before:2026-05-01T12:00:00+09:00",
		"夜\xff":                     "1|| is not valid UTF-8; send it as UTF-8",
		strings.Repeat("夜 ", 65):    "1|| has 65 words and values; the limit is 64",
		strings.Repeat("x", 4097):   "1|| is 4097 bytes long; the limit is 4096 bytes",
		"tag:" + commaList(65) + "": "1|| has 65 words and values; the limit is 64",
	} {
		v := wrong(t, text)[0]
		if got := fmt.Sprintf("%d|%s| %s", v.At, v.Part, v.Message); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func commaList(n int) string { return strings.TrimSuffix(strings.Repeat("夜,", n), ",") }

func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	all := wrong(t, `role:writer tag: before:soon "x"y -`)
	var at []int
	for _, v := range all {
		at = append(at, v.At)
	}
	if fmt.Sprint(at) != "[6 17 18 30 35]" {
		t.Errorf("%v", all)
	}
	_, err := search.Parse("tag: role:x")
	if want := `the query cannot be understood: at character 5, "tag:" has no value; write tag:draft; at character 11, "role:x" names no role`; !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}

// What looks like marks and is none is text.
func TestMarksThatAreText(t *testing.T) {
	t.Parallel()
	x, c := indexed(t, `a "b" c`, "http://x", "--flag", "tags:x", "x,y", "tag:draft", "5'10\"", "-", `C:\new\`)
	for query, want := range map[string]string{
		`"""b"""`: "[0]", `"a ""b"" c"`: "[0]", "http://x": "[1]", `"--flag"`: "[2]", "-" + `flag -"-" flag`: "[]", "tags:x": "[3]",
		"x,y": "[4]", `"tag:draft"`: "[5]", `tag:draft`: "[]", `10"`: "[6]", "c:\\new\\": "[8]", `"C:\new\"`: "[8]", "“x,y”": "[4]", "＂x,y＂": "[4]",
		"－x －a -tag -5 -flag -http \"-\"": "[7]",
	} {
		if got := fmt.Sprint(found(t, x, c, query)); got != want {
			t.Errorf("%s found %s, not %s", query, got, want)
		}
	}
}

// Whatever is typed is a query, or is refused with places that are in it.
// What says no zone is a date and clock of the zone that is asked for, whichever was asked for before; what says one stays.
func TestTimesInAZone(t *testing.T) {
	t.Parallel()
	x, c := indexed(t)
	made := time.Date(2026, 4, 30, 16, 0, 0, 0, time.UTC) // the first of May, 1:00, in Japan
	put(t, c, x, node.Node{ID: uuid.UUID{1}, Created: made, Texts: []node.Text{{Content: "夜"}}})
	finds := func(q *search.Query) bool {
		t.Helper()
		r, err := x.Search(t.Context(), c, q, search.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Hits) == 1
	}
	for text, want := range map[string]struct{ utc, japan bool }{
		"after:2026-05":                    {false, true},
		"after:2026-05-01T01:00":           {false, true},
		"after:2026-05-01T01:00:01":        {false, false},
		"before:2026-05-01":                {true, false},
		"before:2026-05-01T01:00":          {true, false},
		"before:2026-05-01T01:00:01":       {true, true},
		"after:2026-04-30T16:00:00Z":       {true, true},
		"after:2026-05-01T00:00:00Z":       {false, false},
		"before:2026-05-01T00:00:00+09:00": {false, false},
	} {
		q, err := search.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		japan := q.In(zone)
		if finds(q) != want.utc || finds(japan) != want.japan || finds(japan.In(time.UTC)) != want.utc {
			t.Errorf("%s: %t in UTC, %t in Japan", text, finds(q), finds(japan))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`検索 "quick fix" -word`, "tag:夜 tag:駅,港 -tag:x", `model:"gpt-4" model:`, "role:user,system", "flow:\"a \"\"name\"\"\"",
		"after:2026-05 before:2026-06-15T12:00:00+09:00", "－TAG：“夜”、駅", `"`, "-", "--", `""""`, "after:", "role:,", "\u3099", "-\"", "ΣΑΣ -\"σας \" tag:ς",
	} {
		f.Add(seed)
	}
	x, c := indexed(f, "夜の駅 quick fix σας", "draft "+strings.Repeat("x", 70))
	f.Fuzz(func(t *testing.T, text string) {
		q, err := search.Parse(text)
		if err != nil {
			bad := (*search.QueryError)(nil)
			if !errors.As(err, &bad) || len(bad.Violations) == 0 {
				t.Fatal(err)
			}
			for _, v := range bad.Violations {
				if v.At < 1 || v.At > utf8.RuneCountInString(text)+1 || v.Message == "" || !strings.Contains(text, v.Part) {
					t.Fatalf("%q: %+v", text, v)
				}
			}
			return
		}
		if _, err := x.Search(t.Context(), c, q, search.Page{}); err != nil && !errors.As(err, new(*search.QueryError)) {
			t.Fatal(err)
		}
	})
}
