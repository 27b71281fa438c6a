package apierr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/internal/fieldbehavior"
)

// maxFields bounds what one request can make us write down; an answer holds fewer still (see GRPCStatus).
const maxFields = 256

// required is what is wrong with a field that is not set.
const required = "is required"

// Fields collects the wrong fields of one request, so that the caller learns of all of them at once.
// The zero value is ready to use.
type Fields struct {
	list  []Violation
	count int
}

// Add notes that a field is wrong and what would be right.
func (f *Fields) Add(field, format string, args ...any) {
	f.note(Violation{Field: field, Description: fmt.Sprintf(format, args...)})
}

func (f *Fields) note(v Violation) {
	f.count++
	if len(f.list) < maxFields {
		f.list = append(f.list, v)
	}
}

// Also notes the wrong fields of other refusals of the request, under their reasons, but for fields that were noted before. Of one
// that was only missing, they may say what would be right, and that stands instead. An error without fields changes nothing.
func (f *Fields) Also(errs ...error) {
	noted := slices.Clone(f.list)
	for _, err := range errs {
		var other *Error
		if !errors.As(err, &other) {
			continue
		}
		for _, v := range other.Violations {
			if v.Reason = cmp.Or(v.Reason, other.Reason); v.Reason == ReasonInvalidField {
				v.Reason = ""
			}
			missing := Violation{Field: v.Field, Description: required}
			if slices.ContainsFunc(noted, func(n Violation) bool { return n.Field == v.Field && (n != missing || v.Reason != "") }) {
				continue
			}
			if i := slices.Index(f.list, missing); i >= 0 {
				f.list[i] = v
				continue
			}
			f.note(v)
		}
	}
}

// Len is how many wrong fields are noted.
func (f *Fields) Len() int { return f.count }

// Has says that a field is noted.
func (f *Fields) Has(field string) bool {
	return slices.ContainsFunc(f.list, func(v Violation) bool { return v.Field == field })
}

// Size notes a text that is longer than so many bytes.
func (f *Fields) Size(field, text string, limit int) {
	switch {
	case len(text) <= limit:
	case limit >= 1<<20:
		f.Add(field, "is %d bytes long; the limit is %d bytes (%d MiB)", len(text), limit, limit>>20)
	default:
		f.Add(field, "is %d bytes long; the limit is %d bytes", len(text), limit)
	}
}

// Required notes every REQUIRED field of the request, nested messages included, that is not set: the first thing that
// a handler does, before it looks at the values. A nested message that is absent is not looked into.
func (f *Fields) Required(req proto.Message) {
	fieldbehavior.Missing(req, func(path string, d protoreflect.FieldDescriptor) bool {
		switch {
		case d.IsList() || d.IsMap():
			f.Add(path, "at least one is required")
		default:
			f.Add(path, required)
		}
		return len(f.list) < maxFields
	})
}

// Err is nil when no field was wrong, else INVALID_ARGUMENT, INVALID_FIELD with all of them, sorted by field.
func (f *Fields) Err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b Violation) int { return cmp.Compare(a.Field, b.Field) })
	message := fmt.Sprintf("%s: %s", f.list[0].Field, f.list[0].Description)
	if n := f.count - 1; n > 0 {
		message += fmt.Sprintf(" (and %d more)", n)
	}
	return &Error{Code: codes.InvalidArgument, Reason: ReasonInvalidField, Message: message, Violations: slices.Clone(f.list)}
}
