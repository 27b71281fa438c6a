package apierr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// An error travels in HTTP/2 trailers, its message twice: percent-encoded (three bytes for each byte that is not ASCII)
// and, with the details, in base64. A client may refuse more than 8 KiB of headers, and then sees a broken stream
// instead of an answer. With these limits an answer stays under 7 KiB.
const (
	maxDetailBytes  = 3 << 10
	maxMessageBytes = 512
	maxValueBytes   = 2 << 10
	// maxLastField is that of the field of the last violation, for which nothing of the budget may be left.
	maxLastField = 128
)

// budget is how many bytes of text an answer may still carry.
type budget int

// text takes s out of the budget, shortened where it is too long.
func (b *budget) text(s string) string { return b.take(s, maxMessageBytes) }

func (b *budget) take(s string, limit int) string {
	s = shorten(s, min(limit, max(int(*b), 0)))
	*b -= budget(len(s))
	return s
}

// shorten keeps the first bytes of s up to a whole character and says with an ellipsis that there was more.
func shorten(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	const more = "…"
	if len(s) <= limit {
		return s
	}
	if limit < len(more) {
		return ""
	}
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

func (b *budget) metadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		*b -= budget(len(k))
		out[k] = b.take(m[k], maxValueBytes)
	}
	return out
}

// others says how many violations are not told.
func others(n int) string {
	if n == 0 {
		return "and this answer has no room to say how"
	}
	return fmt.Sprintf("and so are %d more for which this answer has no room", n)
}

// badRequest carries as many violations as the budget allows; the last one names one more and says how many there are.
func (b *budget) badRequest(list []Violation, reason string) *errdetails.BadRequest {
	out := &errdetails.BadRequest{}
	add := func(field, description, own string) {
		out.FieldViolations = append(out.FieldViolations,
			&errdetails.BadRequest_FieldViolation{Field: field, Description: description, Reason: cmp.Or(own, reason)})
	}
	for i, v := range list {
		if i > 0 && *b < budget(len(v.Field)+len(v.Description)+len(reason)) {
			add(shorten(v.Field, maxLastField), "is wrong too, "+others(len(list)-i-1), "")
			break
		}
		*b -= budget(len(cmp.Or(v.Reason, reason)))
		add(b.text(v.Field), b.text(v.Description), v.Reason)
	}
	return out
}

func (b *budget) preconditionFailure(list []Precondition) *errdetails.PreconditionFailure {
	out := &errdetails.PreconditionFailure{}
	for _, p := range list {
		if *b < budget(len(p.Type)+len(p.Subject)+len(p.Description)) && len(out.Violations) > 0 {
			break
		}
		out.Violations = append(out.Violations, &errdetails.PreconditionFailure_Violation{
			Type: b.text(p.Type), Subject: b.text(p.Subject), Description: b.text(p.Description)})
	}
	return out
}
