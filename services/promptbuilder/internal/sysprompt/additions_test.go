package sysprompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is added changes no byte before its own line, block or place: a model server reads anew what stands behind it alone.
func TestWhatIsAddedMovesNothingBefore(t *testing.T) {
	t.Parallel()
	base := func() Request {
		return Request{
			Locale: "en", Zone: "Asia/Tokyo", Tools: []Tool{{"read", "Read", ""}, {"exec", "Run", ""}, {"message", "Say", ""}},
			Skills:    []Skill{{Name: "gmail", Description: "mail", Location: "/g"}, {Name: "tax", Description: "tax", Location: "/t"}},
			Files:     []File{{Name: "AGENTS.md", Content: []byte(strings.Repeat("規則。", 1000))}, {Name: "MEMORY.md", Content: []byte("one\n")}, {Name: "notes.md", Content: []byte("n")}},
			Sections:  []Custom{{ID: "house", Text: "h"}, {ID: "state", Text: "s", Class: Session}},
			Bootstrap: Bootstrap{Max: 2000}, Runtime: Runtime{Host: "a"},
		}
	}
	before := build(t, base())
	for name, c := range map[string]struct {
		change func(r *Request)
		upTo   string // what the part in common must reach; nothing: the whole text
	}{
		"a tool behind the others":  {func(r *Request) { r.Tools = append(r.Tools, Tool{Name: "zip"}) }, "\n- message: Say"},
		"a tool between":            {func(r *Request) { r.Tools = append(r.Tools, Tool{Name: "ls"}) }, "\n- exec: Run\n- "},
		"a skill behind the others": {func(r *Request) { r.Skills = append(r.Skills, Skill{Name: "zip", Description: "z", Location: "/z"}) }, "<location>/t</location>\n  </skill>\n"},
		"a skill before the others": {func(r *Request) { r.Skills = append(r.Skills, Skill{Name: "a", Description: "z", Location: "/z"}) }, "<available_skills>\n  <skill>\n    <name>"},
		"a line of MEMORY.md":       {func(r *Request) { r.Files[1].Content = []byte("one\ntwo\n") }, "## MEMORY.md\n\n<file>\none\n"},
		"a line behind the cap":     {func(r *Request) { r.Files[0].Content = append(slices.Clone(r.Files[0].Content), "\n# MUST\n"...) }, ""},
		"a section of the session":  {func(r *Request) { r.Sections = append(r.Sections, Custom{ID: "more", Text: "m", Class: Session}) }, "- Host: a\n\n"},
		"a volatile section":        {func(r *Request) { r.Sections = append(r.Sections, Custom{ID: "more", Text: "m", Class: Volatile}) }, "\n\ns"},
		"another host":              {func(r *Request) { r.Runtime.Host = "b" }, "# Runtime\n\n- Host: "},
		"a volatile file": {func(r *Request) {
			r.Files = append(r.Files, File{Name: "SOUL.md", Content: []byte("s"), Class: Volatile})
		}, "\n\ns"},
		"a time":                     {func(r *Request) { r.Now, r.IncludeTime = time.Unix(1e9, 0), true }, "\n\ns"},
		"a reason to look elsewhere": {func(r *Request) { r.Reasoning.Level = "off" }, "- Host: a\n\n"},
	} {
		r := base()
		c.change(&r)
		r.Previous = &Previous{Sections: before.Sections}
		after := build(t, r)
		least := len(before.Text)
		if c.upTo != "" {
			least = strings.LastIndex(before.Text, c.upTo) + len(c.upTo)
		}
		if c.upTo != "" && least < len(c.upTo) || !strings.HasPrefix(after.Text, before.Text[:least]) {
			t.Errorf("%s: %s", name, cmp.Diff(before.Text, after.Text))
		}
		if (after.Text == before.Text) != (c.upTo == "") || least > before.Cache.Byte && after.Cache.Digest != before.Cache.Digest {
			t.Errorf("%s: the text is the same: %v; boundary %+v, before %+v", name, after.Text == before.Text, after.Cache, before.Cache)
		}
		if !strings.HasPrefix(after.Text, before.Text[:after.Diff.Prefix]) {
			t.Errorf("%s: the promised prefix is too long: %+v", name, after.Diff)
		}
	}
}

// clock writes a time by arithmetic: hours to 12 or 24 of a UTC time with an offset in minutes.
func clock(now time.Time, minutes int, twelve bool) string {
	wall := now.Add(time.Duration(minutes) * time.Minute).UTC()
	hour, minute := wall.Hour(), wall.Minute()
	text := fmt.Sprintf("%02d:%02d", hour, minute)
	if twelve {
		half := "AM"
		if hour >= 12 {
			half = "PM"
		}
		text = fmt.Sprintf("%d:%02d %s", (hour+11)%12+1, minute, half)
	}
	sign := "+"
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	return fmt.Sprintf("%04d-%02d-%02d %s %s%02d:%02d", wall.Year(), wall.Month(), wall.Day(), text, sign, minutes/60, minutes%60)
}

// Twelve and twenty-four hours through both changes of the clock of a year, and at midnight and noon: the time is right, and nothing of
// it is above the boundary.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		t.Helper()
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	for zone, c := range map[string]struct {
		winter, summer int // minutes
		spring, autumn time.Time
	}{
		"America/New_York":    {-300, -240, at("2026-03-08T07:00:00Z"), at("2026-11-01T06:00:00Z")},
		"Europe/London":       {0, 60, at("2026-03-29T01:00:00Z"), at("2026-10-25T01:00:00Z")},
		"Australia/Lord_Howe": {630, 660, at("2026-10-03T15:30:00Z"), at("2026-04-04T15:00:00Z")}, // half an hour, and the other half of the year
		"Asia/Tokyo":          {540, 540, at("2026-03-08T07:00:00Z"), at("2026-11-01T06:00:00Z")},
	} {
		offset := func(now time.Time) int {
			summer := !now.Before(c.spring) && now.Before(c.autumn)
			if c.autumn.Before(c.spring) {
				summer = !now.Before(c.spring) || now.Before(c.autumn)
			}
			if summer {
				return c.summer
			}
			return c.winter
		}
		var times []time.Time
		for _, change := range []time.Time{c.spring, c.autumn} {
			for minutes := -24 * 60; minutes <= 24*60; minutes += 30 {
				times = append(times, change.Add(time.Duration(minutes)*time.Minute))
			}
			times = append(times, change.Add(-time.Second))
		}
		for day := 0; day < 365; day += 5 {
			noon := time.Date(2026, 1, 1+day, 12, 0, 0, 0, time.UTC)
			times = append(times, noon.Add(-time.Duration(offset(noon))*time.Minute), noon.Add(-time.Duration(offset(noon))*time.Minute+12*time.Hour))
		}
		above := map[string]bool{}
		for _, format := range []string{"12", "24"} {
			for _, now := range times {
				p := build(t, Request{Zone: zone, TimeFormat: format, Now: now, IncludeTime: true})
				want := "Current time: " + clock(now, offset(now), format == "12") + " (" + zone + ")"
				if got := p.Text[p.Session.Byte+2:]; got != want {
					t.Fatalf("%s is %q, want %q", now, got, want)
				}
				above[p.Cache.Digest] = true
			}
		}
		if len(above) != 2 {
			t.Errorf("%s: %d texts above the boundary of two formats", zone, len(above))
		}
	}
}
