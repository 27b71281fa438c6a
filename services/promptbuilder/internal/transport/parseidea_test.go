package transport_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

func TestParseIdea(t *testing.T) {
	t.Parallel()
	client := serve(t, &stories{})
	got, err := client.ParseIdea(t.Context(), &promptbuilderv1.ParseIdeaRequest{
		Text: "はい。\n# タイトル:\n題\n# キーワード:\n雨\n夜\n# セリフ量:\n多い\n# 設定:\n館\n",
		Parts: []promptbuilderv1.IdeaPart{
			promptbuilderv1.IdeaPart_IDEA_PART_TITLE, promptbuilderv1.IdeaPart_IDEA_PART_KEYWORDS, promptbuilderv1.IdeaPart_IDEA_PART_PLOT,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &promptbuilderv1.ParseIdeaResponse{
		Story:   &commonv1.Story{Title: proto.String("題"), Keywords: []string{"雨", "夜"}},
		Missing: []promptbuilderv1.IdeaPart{promptbuilderv1.IdeaPart_IDEA_PART_PLOT},
		Extra: []*promptbuilderv1.IdeaExtra{
			{Text: "はい。"}, {Header: "# セリフ量:", Text: "多い"}, {Header: "# 設定:", Text: "館"},
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestParseIdeaRefuses(t *testing.T) {
	t.Parallel()
	client := serve(t, &stories{})
	for name, tt := range map[string]struct {
		request *promptbuilderv1.ParseIdeaRequest
		fields  []string
	}{
		"nothing":  {&promptbuilderv1.ParseIdeaRequest{}, []string{"text"}},
		"too long": {&promptbuilderv1.ParseIdeaRequest{Text: strings.Repeat("x", 1<<20+1)}, []string{"text"}},
		"parts":    {&promptbuilderv1.ParseIdeaRequest{Text: "x", Parts: []promptbuilderv1.IdeaPart{0, 99}}, []string{"parts[0]", "parts[1]"}},
	} {
		_, err := client.ParseIdea(t.Context(), tt.request)
		got, ok := apierr.FromStatus(err)
		if !ok || got.Code != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var fields []string
		for _, v := range got.Violations {
			fields = append(fields, v.Field)
		}
		if !cmp.Equal(fields, tt.fields) {
			t.Errorf("%s: fields %q, want %q", name, fields, tt.fields)
		}
	}
}
