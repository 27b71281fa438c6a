package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// The body of an import is the file, of whatever bytes; the query holds the options.
func TestImportFlows(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	file := string(bytes.Repeat([]byte("PK\x00\xff\r\n"), 500_000)) // 3 MB
	for contentType, chunks := range map[string]string{"application/zip": `"failed":3`, "application/json; charset=utf-8": `"failed":3`, "application/x-ndjson": `"failed":3`} {
		got := do(t, newRequest(t, "POST", server.URL+"/v1/flows:importFlows?format=IMPORT_FORMAT_CLAUDE&dryRun=true", file, "Content-Type", contentType))
		sum := sha256.Sum256([]byte(file))
		if got.status != 200 || !strings.Contains(got.body, chunks) || !strings.Contains(got.body, hex.EncodeToString(sum[:])) {
			t.Errorf("%s: %d %s", contentType, got.status, got.body)
		}
		want := &flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Options{Options: &flowstorev1.ImportOptions{
			Format: flowstorev1.ImportFormat_IMPORT_FORMAT_CLAUDE, DryRun: true,
		}}}
		request, _ := s.last()
		if diff := cmp.Diff(want, request, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	}
	if got := do(t, newRequest(t, "POST", server.URL+"/v1/flows:importFlows", "")); got.status != 200 || !strings.Contains(got.body, `"failed":0`) {
		t.Errorf("no file: %d %s", got.status, got.body)
	}
}

func TestImportsThatAreRefused(t *testing.T) {
	t.Parallel()
	server, _ := start(t, &services{})
	for name, tt := range map[string]struct {
		query, contentType, body string
		status                   int
		reason, says             string
	}{
		"a form":         {"", "multipart/form-data; boundary=x", "x", 415, "UNSUPPORTED_MEDIA_TYPE", "application/json or application/x-ndjson or application/zip"},
		"text":           {"", "text/plain", "x", 415, "UNSUPPORTED_MEDIA_TYPE", "text/plain"},
		"unknown format": {"?format=WORD", "application/zip", "x", 400, "INVALID_FIELD", "format: must be"},
		"unknown option": {"?dry=true", "application/zip", "x", 400, "INVALID_FIELD", "dry: there is no such parameter; there are format, dryRun"},
		"the chunk":      {"?chunk=eA", "application/zip", "x", 400, "INVALID_FIELD", "there are format, dryRun"},
		"too large":      {"", "application/zip", strings.Repeat("x", 17<<20), 413, "BODY_TOO_LARGE", "max_body"},
	} {
		got := do(t, newRequest(t, "POST", server.URL+"/v1/flows:importFlows"+tt.query, tt.body, "Content-Type", tt.contentType))
		reason, p := got.reason(t)
		if got.status != tt.status || reason != tt.reason || !strings.Contains(p.Message, tt.says) {
			t.Errorf("%s: %d %s: %s", name, got.status, reason, p.Message)
		}
	}
}

// What a service finds wrong is told as it stands in the query and the body.
func TestFieldsOfAnImport(t *testing.T) {
	t.Parallel()
	wrong := apierr.New(codes.InvalidArgument, "INVALID_FIELD", "options.format: is wrong")
	wrong.Violations = []apierr.Violation{{Field: "options.format", Description: "is wrong"}, {Field: "chunk", Description: "is none"}}
	server, _ := start(t, &services{err: wrong})
	_, p := do(t, newRequest(t, "POST", server.URL+"/v1/flows:importFlows", "x")).reason(t)
	var fields []string
	for _, d := range p.Details {
		for _, v := range d.FieldViolations {
			fields = append(fields, v.Field)
		}
	}
	if diff := cmp.Diff([]string{"format", ""}, fields); diff != "" || p.Message != "format: is wrong" {
		t.Errorf("%s %s", p.Message, diff)
	}
}

// The answer to an export is the file; where it ends with an error, its last line says so.
func TestExportFlows(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	const head = "{\"tsumugi\":{\"version\":1}}\n"
	for _, accept := range []string{"", "text/event-stream", "application/json"} {
		got := do(t, newRequest(t, "GET", server.URL+"/v1/flows:exportFlows?flows=flows/a", "", "Accept", accept))
		if got.status != 200 || got.body != head || got.header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%d %v %q", got.status, got.header, got.body)
		}
	}
	got := do(t, newRequest(t, "GET", server.URL+"/v1/flows:exportFlows?flows=flows/a&flows=flows/b", ""))
	if rest, whole := strings.CutPrefix(got.body, head+"\n{\"error\":{"); !whole || !strings.Contains(rest, "STORE_READ_ONLY") || !strings.HasSuffix(rest, "}}\n") {
		t.Errorf("%q", got.body)
	}
	s = &services{err: apierr.New(codes.NotFound, "FLOW_NOT_FOUND", "no flow")}
	server, _ = start(t, s)
	if got := do(t, newRequest(t, "GET", server.URL+"/v1/flows:exportFlows", "")); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}
