package stablejson_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/stablejson"
)

// Spaces go wherever a build of protojson may put them, and what stands in strings stays.
func TestCompact(t *testing.T) {
	t.Parallel()
	const want = `{"a":[1,"b: c, <&>\u2028紡ぎ"],"d":{}}`
	for _, in := range []string{want, `{"a": [1, "b: c, <&>\u2028紡ぎ"], "d": {}}`, "{\"a\":[1,  \"b: c, <&>\\u2028紡ぎ\"],\n\"d\":{}}"} {
		if got, err := stablejson.Compact([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", in, got, err)
		}
	}
	if _, err := stablejson.Compact([]byte(`{"a"`)); err == nil {
		t.Error("what is no JSON was taken")
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	title := "夜: \u2028<b>"
	got, err := stablejson.Marshal(protojson.MarshalOptions{}, &commonv1.Story{Title: &title, Genres: []string{"a", "b"}})
	if want := "{\"title\":\"夜: \u2028<b>\",\"genres\":[\"a\",\"b\"]}"; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	title = "\xff"
	if _, err := stablejson.Marshal(protojson.MarshalOptions{}, &commonv1.Story{Title: &title}); err == nil {
		t.Error("a text that is not UTF-8 was written")
	}
}
