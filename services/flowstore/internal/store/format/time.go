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

func formatTime(t time.Time) string { return string(appendTime(nil, t)) }

// appendTime appends a time as timeLayout has it, some four times as fast: each node, each row and each entry has one.
func appendTime(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	_, zone := t.Zone()
	if year < 0 || year > 9999 || zone%60 != 0 {
		return t.AppendFormat(dst, timeLayout)
	}
	hour, minute, second := t.Clock()
	micro := t.Nanosecond() / 1000
	dst = append(appendPair(appendPair(dst, year/100), year%100), '-')
	dst = append(appendPair(dst, int(month)), '-')
	dst = append(appendPair(dst, day), 'T')
	dst = append(appendPair(dst, hour), ':')
	dst = append(appendPair(dst, minute), ':')
	dst = append(appendPair(dst, second), '.')
	dst = appendPair(appendPair(appendPair(dst, micro/10_000), micro/100%100), micro%100)
	sign := byte('+')
	if zone < 0 {
		sign, zone = '-', -zone
	}
	dst = append(appendPair(append(dst, sign), zone/3600), ':')
	return appendPair(dst, zone/60%60)
}

// appendPair appends two digits.
func appendPair(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// parseTime is parseTimeIn where UTC is meant without a zone.
func parseTime(text string) (time.Time, error) { return parseTimeIn(text, time.UTC) }

// parseTimeIn reads a time with 0 to 9 digits of a second and a zone, `Z` included. Without a zone it is of the zone given
// (field/flowstore.md row 11). What is finer than a microsecond is cut off. A space for the T is what other YAML writers
// make of it.
func parseTimeIn(text string, zone *time.Location) (time.Time, error) {
	if len(text) > 10 && text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
	if err != nil {
		t, err = time.ParseInLocation(zonelessLayout, text, zone)
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

// canonicalTime reads a time just as it is written, some ten times as fast as parseTime. ok is false for any other form.
func canonicalTime(text string) (t time.Time, ok bool) {
	const form = "0000-00-00T00:00:00.000000+00:00"
	if len(text) != len(form) {
		return t, false
	}
	for i := range len(form) {
		c := text[i]
		if form[i] == '0' {
			ok = c >= '0' && c <= '9'
		} else {
			ok = c == form[i] || (i == len(form)-len("+00:00") && c == '-')
		}
		if !ok {
			return t, false
		}
	}
	at := func(i, n int) (v int) {
		for _, c := range []byte(text[i : i+n]) {
			v = v*10 + int(c-'0')
		}
		return v
	}
	year, month, day, hour, minute, second := at(0, 4), at(5, 2), at(8, 2), at(11, 2), at(14, 2), at(17, 2)
	zone := at(27, 2)*3600 + at(30, 2)*60
	if text[26] == '-' {
		zone = -zone
	}
	location := time.UTC
	if zone != 0 {
		location = time.FixedZone("", zone)
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, at(20, 6)*1000, location)
	if month < 1 || month > 12 || t.Day() != day || hour > 23 || minute > 59 || second > 59 || at(27, 2) > 23 || at(30, 2) > 59 {
		return time.Time{}, false
	}
	return t, true
}
