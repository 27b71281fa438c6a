package transcript_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transcript"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The files that package format is tested with, as a person sees them in git diff.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"whole.xml", "empty.xml", "knobs.xml", "person.xml", "novel.yaml", "named.yaml", "edited.yaml", "bare.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "store", "format", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		show := func() []byte {
			if strings.HasSuffix(name, ".xml") {
				n, err := format.DecodeNode(data)
				if err != nil {
					t.Fatal(err)
				}
				return transcript.Node(n)
			}
			f, err := format.DecodeFlow(data)
			if err != nil {
				t.Fatal(err)
			}
			return transcript.Flow(f)
		}
		testkit.Golden(t, name+".txt", show())
		if !bytes.Equal(show(), show()) {
			t.Errorf("%s is not the same twice", name)
		}
	}
}

// Texts stand there byte for byte, whatever is in them; what is short stays on its line.
func TestTextsAreVerbatim(t *testing.T) {
	t.Parallel()
	content := "--- user ---\r\n]]> \x1b[31m \u202e trailing  \n\n"
	n := node.Node{ID: uuid.MustParse("0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"), Created: time.Unix(0, 0), Model: "a\nmodel: b",
		Texts: []node.Text{{Role: "tool", Content: content}}}
	got := string(transcript.Node(n))
	if !strings.Contains(got, "--- tool ---\n"+content+"\n") || !strings.Contains(got, "\nmodel: a model: b\n") {
		t.Errorf("%q", got)
	}
	if got := string(transcript.Flow(flow.Flow{Description: content})); !strings.Contains(got, content) {
		t.Errorf("%q", got)
	}
}
