package format

import (
	"strings"
	"time"
)

// timeLayout is how every time is written: to the microsecond, with a numeric zone (field/flowstore.md row 11).
const timeLayout = "2006-01-02T15:04:05.000000-07:00"

const zonelessLayout = "2006-01-02T15:04:05.999999999"

// hasZone says whether a time, one that parseTime reads, says its zone.
func hasZone(text string) bool {
	end := strings.TrimSpace(text)
	return strings.HasSuffix(end, "Z") || strings.ContainsAny(end[len(end)-len("+09:00"):][:1], "+-")
}

func formatTime(t time.Time) string { return t.Format(timeLayout) }

// parseTime reads a time with 0 to 9 digits of a second and a zone, `Z` included. Without a zone it is UTC. What is
// finer than a microsecond is cut off. A space for the T is what other YAML writers make of it.
func parseTime(text string) (time.Time, error) {
	if len(text) > 10 && text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
	if err != nil {
		t, err = time.Parse(zonelessLayout, text)
	}
	if err != nil {
		return time.Time{}, unreadable("%q is not a time such as 2025-05-09T06:48:06.533720+09:00", cut(text))
	}
	t = t.Truncate(time.Microsecond)
	// Of two names for one zone take the one that does not depend on where the program runs.
	if _, offset := t.Zone(); offset != 0 {
		return t.In(time.FixedZone("", offset)), nil
	}
	return t.UTC(), nil
}
