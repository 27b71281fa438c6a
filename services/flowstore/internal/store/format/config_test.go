package format_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

var sameZone = cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })

func TestNewConfig(t *testing.T) {
	t.Parallel()
	data := format.EncodeConfig(noon)
	if string(data) != "version: \"1.0\"\ncreated: 2025-05-09T06:48:06.533720+09:00\n" {
		t.Errorf("%s", data)
	}
	got, err := format.DecodeConfig(data)
	want := format.Config{Version: "1.0", Created: noon, Settings: format.DefaultSettings()}
	if diff := cmp.Diff(want, got, sameTime, sameZone); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// The example of seed 004, 6.3, and our own keys beside it.
func TestSeedConfig(t *testing.T) {
	t.Parallel()
	got, err := format.DecodeConfig([]byte(`version: "1.0"
created: 2025-05-07T10:00:00+09:00
updated: 2025-05-08T13:55:22+09:00
settings:
  max_files_per_folder: 500
  default_llm_provider: openai
  default_model: gpt-4
  summary_token_limit: 50
  timezone: Asia/Tokyo
  metadata: false
providers:
  openai:
    api_key_env: OPENAI_API_KEY
  ollama:
    host: http://localhost:11434
`))
	if err != nil {
		t.Fatal(err)
	}
	tokyo := noon.Location()
	want := format.Config{
		Version: "1.0", Created: time.Date(2025, 5, 7, 10, 0, 0, 0, tokyo), Updated: time.Date(2025, 5, 8, 13, 55, 22, 0, tokyo),
		Foreign: []string{"providers", "settings.default_llm_provider", "settings.default_model", "settings.summary_token_limit"},
	}
	want.Settings.MaxFilesPerFolder = 500
	want.Settings.Timezone, err = time.LoadLocation("Asia/Tokyo")
	if diff := cmp.Diff(want, got, sameTime, sameZone); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestConfigTells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		err      string
		warnings []string
	}{
		"version: 1.0\n":                             {},
		"version: \"1.7\"\n":                         {},
		"version: 1\nsettings:\n  # timezone: UTC\n": {},
		"version: 2.0\nsettings: 5\n":                {err: `is of version "2.0"; this program reads version "1.0": use a newer program`},
		"version: 10\n":                              {err: `is of version "10"; this program reads version "1.0": use a newer program`},
		"":                                           {err: `has no version; this program reads version: "1.0"`},
		"- a\n":                                      {err: "is no mapping of keys to values"},
		"{":                                          {err: "is not YAML: line 1: did not find expected node content"},
		"version: 1\nsettings: 5\n":                  {err: "settings: line 2: must be a mapping of keys to values"},
		"version: 1\nsettings: {}\nsettings: {}\n": {err: "settings: line 3: stands there twice; the first counts"},
		"version: 1\nsettings:\n  max_files_per_folder: 33\n  timezone: Local\n  metadata: yes\n  metadata: true\n": {
			err: "settings.metadata: line 6: stands there twice; the first counts; " + `settings.metadata: line 5: "yes" must be true or false; ` +
				"settings.max_files_per_folder: line 3: is 33; it must divide 1000, such as 50, 100, 200, 250, 500 or 1000; " +
				`settings.timezone: line 4: "Local" is no time zone that is known here, such as Asia/Tokyo, UTC or +09:00`,
		},
		"version: 1\nsettings: {max_files_per_folder: many, timezone: }\n": {
			err: `settings.max_files_per_folder: line 2: "many" must be a whole number from -9223372036854775808 to 9223372036854775807; ` +
				"settings.timezone: line 2: has no value; leave the key out for the default",
		},
		"version: 1\ncreated: [x]\nupdated: now\nmood: calm\nproviders: 5\nsettings:\n  time_zone: UTC\n": {warnings: []string{
			"created: line 2: must be a text; it is left out",
			`updated: line 3: "now" is not a time such as 2025-05-09T06:48:06.533720+09:00; it is left out`,
			"mood: line 4: is not known and has no effect",
			"settings.time_zone: line 7: is not known and has no effect; did you mean settings.timezone?",
		}},
	} {
		c, err := format.DecodeConfig([]byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want.warnings, c.Warnings); got != want.err || diff != "" {
			t.Errorf("%q: %q, want %q %s", text, got, want.err, diff)
		}
		if again := format.CheckConfig([]byte(text)); (again == nil) != (err == nil) {
			t.Errorf("%q: %v by itself", text, again)
		}
	}
}

func TestZonesOfConfig(t *testing.T) {
	t.Parallel()
	for zone, seconds := range map[string]int{"UTC": 0, "+09:00": 9 * 3600, "-03:30": -(3*3600 + 30*60), "+00:00": 0, "Asia/Tokyo": 9 * 3600} {
		c, err := format.DecodeConfig([]byte("version: 1\nsettings: {timezone: \"" + zone + "\"}\n"))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, offset := noon.In(c.Settings.Timezone).Zone(); offset != seconds {
			t.Errorf("%s is %d seconds off", zone, offset)
		}
	}
	for _, zone := range []string{"", "Local", "Mars/Olympus", "../etc/passwd", "9", "+25:00"} {
		_, err := format.DecodeConfig([]byte("version: 1\nsettings: {timezone: \"" + zone + "\"}\n"))
		var own *format.Error
		if !errors.As(err, &own) || !strings.Contains(own.Reason, "is no time zone") {
			t.Errorf("%q: %v", zone, err)
		}
	}
}

// A time without a zone is of the zone that config.yaml names, with a warning, also when the flow is written again
// (field/flowstore.md row 11).
func TestTimesWithoutAZone(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		zone *time.Location
		name string
		want string
	}{
		{nil, "UTC", "2025-05-09T06:48:06.000000+00:00"}, {tokyo, "Asia/Tokyo", "2025-05-09T06:48:06.000000+09:00"},
		{time.FixedZone("", -3*3600-1800), "-03:30", "2025-05-09T06:48:06.000000-03:30"},
	} {
		r := format.Reader{Timezone: c.zone}
		old := []byte("# mine\nid: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b\ncreated: 2025-05-09T06:48:06\nupdated: 2025-05-09T06:48:06Z\nnodes: []\nconnections: []\n")
		f, err := r.DecodeFlow(old)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"created: line 3: has no zone, such as Z or +09:00; it is taken for " + c.name}
		if got := f.Created.Format("2006-01-02T15:04:05.000000-07:00"); got != c.want || !cmp.Equal(f.Problems, want) {
			t.Errorf("%s: %s, %q", c.name, got, f.Problems)
		}
		f.Name = "夜"
		text, kept := r.UpdateFlow(old, f)
		if !kept || !strings.HasPrefix(string(text), "# mine\n") || !strings.Contains(string(text), "created: 2025-05-09T06:48:06\n") {
			t.Errorf("%s: kept is %v:\n%s", c.name, kept, text)
		}
		aNode := []byte(`<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06"><!-- mine --><contents><text role="user">夜</text></contents></node>`)
		n, err := r.DecodeNode(aNode)
		if err != nil {
			t.Fatal(err)
		}
		want = []string{`timestamp="2025-05-09T06:48:06" has no zone, such as Z or +09:00; it is taken for ` + c.name}
		if got := n.Created.Format("2006-01-02T15:04:05.000000-07:00"); got != c.want || !cmp.Equal(n.Warnings, want) {
			t.Errorf("%s: %s, %q", c.name, got, n.Warnings)
		}
		if _, created, err := r.NodeHead(aNode); err != nil || !created.Equal(n.Created) {
			t.Errorf("%s: the head says %v: %v", c.name, created, err)
		}
		n.Note = "よい"
		text, kept = r.UpdateNode(aNode, n)
		if !kept || !strings.Contains(string(text), "<!-- mine -->") {
			t.Errorf("%s: kept is %v:\n%s", c.name, kept, text)
		}
		if again, err := r.DecodeNode(text); err != nil || !again.Created.Equal(n.Created) {
			t.Errorf("%s: written again it is of %v: %v", c.name, again.Created, err)
		}
		if _, kept := (format.Reader{Timezone: time.FixedZone("", 7200)}).UpdateFlow(old, f); kept {
			t.Errorf("%s: in another zone the time is the same", c.name)
		}
	}
}

// FuzzDecodeConfig: no bytes crash the reader, a refusal says why, and what is taken can be gone by.
func FuzzDecodeConfig(f *testing.F) {
	f.Add(format.EncodeConfig(noon))
	f.Add([]byte("version: 1\nsettings: {max_files_per_folder: 10, timezone: Asia/Tokyo, metadata: no}\nproviders: {a: {host: x}}\n"))
	f.Add([]byte("version: 1\nsettings: {? [a] : b, <<: {x: 1}, max_files_per_folder: 1e3}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := format.DecodeConfig(data)
		refusal(t, err)
		if err != nil {
			return
		}
		if _, err := format.NewStep(int(c.Settings.MaxFilesPerFolder)); err != nil || c.Settings.Timezone == nil || c.Version == "" {
			t.Errorf("%+v %v", c, err)
		}
	})
}
