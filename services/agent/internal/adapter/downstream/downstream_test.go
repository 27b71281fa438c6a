package downstream_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/downstream"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

var service = downstream.Service{
	Name: "shop", Passed: []string{"SOLD_OUT", "CLOSED"},
	Fields: map[string]string{"story": "story", "max_tokens": "sampling.max_tokens", "texts": "prompt"},
}

func invalid(fields ...string) error {
	f := &apierr.Fields{}
	for _, name := range fields {
		f.Add(name, "is wrong")
	}
	var e *apierr.Error
	errors.As(f.Err(), &e)
	return e.GRPCStatus().Err()
}

func TestError(t *testing.T) {
	t.Parallel()
	typed := func(code codes.Code, reason string) error {
		return apierr.New(code, reason, "m", "k", "v").GRPCStatus().Err()
	}
	for name, c := range map[string]struct {
		err    error
		code   codes.Code
		reason string
	}{
		"passed on":                       {typed(codes.NotFound, "SOLD_OUT"), codes.NotFound, "SOLD_OUT"},
		"passed on, although UNAVAILABLE": {typed(codes.Unavailable, "CLOSED"), codes.Unavailable, "CLOSED"},
		"a limit":                         {typed(codes.ResourceExhausted, "LIMIT_EXCEEDED"), codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		"stopping":                        {typed(codes.Unavailable, "DRAINING"), codes.Unavailable, "SERVICE_UNAVAILABLE"},
		"nobody there":                    {status.Error(codes.Unavailable, "connection refused"), codes.Unavailable, "SERVICE_UNAVAILABLE"},
		"too slow":                        {status.Error(codes.DeadlineExceeded, "late"), codes.Unavailable, "SERVICE_UNAVAILABLE"},
		"the caller's field":              {invalid("story.note", "max_tokens"), codes.InvalidArgument, "INVALID_FIELD"},
		"not only the caller's field":     {invalid("story.note", "nonce"), codes.OK, ""},
		"not for the caller":              {typed(codes.NotFound, "NO_SHELF"), codes.OK, ""},
		"its fault":                       {typed(codes.Internal, "INTERNAL"), codes.OK, ""},
		"bare":                            {status.Error(codes.InvalidArgument, "secret"), codes.OK, ""},
		"no status":                       {errors.New("secret"), codes.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *apierr.Error
			err := service.Error(c.err)
			switch is := errors.As(err, &got); {
			case c.code == codes.OK && is:
				t.Errorf("%+v is told to the caller", got)
			case c.code != codes.OK && (!is || got.Code != c.code || got.Reason != c.reason):
				t.Errorf("%v", err)
			}
		})
	}
	if err := service.Error(status.Error(codes.Canceled, "")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := service.Error(nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}

func TestFieldsOfAPassedErrorGetTheCallersNames(t *testing.T) {
	t.Parallel()
	passed := &apierr.Error{Code: codes.InvalidArgument, Reason: "SOLD_OUT", Message: "m", Violations: []apierr.Violation{
		{Field: "max_tokens", Description: "d"}, {Field: "nonce", Description: "d"},
	}}
	var got *apierr.Error
	if !errors.As(service.Error(passed.GRPCStatus().Err()), &got) || len(got.Violations) != 1 || got.Violations[0].Field != "sampling.max_tokens" {
		t.Errorf("%+v", got)
	}
}

func TestFieldsOfWhatWasPassedOnStandUnderIt(t *testing.T) {
	t.Parallel()
	under, got := service, new(apierr.Error)
	under.Under = "build"
	if !errors.As(under.Error(invalid("wrapping.name", "max_tokens")), &got) || len(got.Violations) != 2 ||
		got.Violations[0].Field != "build.wrapping.name" || got.Violations[1].Field != "sampling.max_tokens" {
		t.Errorf("%+v", got)
	}
}

func TestFieldsGetTheCallersNames(t *testing.T) {
	t.Parallel()
	var got *apierr.Error
	errors.As(service.Error(invalid("story.keywords[3]", "max_tokens", "texts[0]")), &got)
	want := []string{"prompt", "sampling.max_tokens", "story.keywords[3]"}
	if got == nil || len(got.Violations) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, v := range got.Violations {
		if v.Field != want[i] || v.Description != "is wrong" {
			t.Errorf("violation %d: %+v, want field %s", i, v, want[i])
		}
	}
}
