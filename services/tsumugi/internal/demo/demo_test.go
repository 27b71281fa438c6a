package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The whole demo runs against a server that speaks llama.cpp's wire format, and leaves nothing behind.
func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	model := llmtest.New(t, llmtest.Options{Reply: func(string) []string { return []string{"低い男の", "声だった。"} }})
	out := &watched{t: t, dir: temp}
	if err := Run(t.Context(), Options{ModelURL: model.URL, ModelKind: "llamacpp", Out: out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text := out.String()
	for _, want := range []string{
		"instruction", "window 4096 tokens", "cut: nothing", "drawn for story.note: ", // the breakdown
		"...彼女が受話器を取ると、聞こえてきたのは低い男の声だった。", // the answer behind the opening
		"1  …", "   2  …", "   3  …", // two branches of one node
		"000.xml", "<text role=\"assistant\"", "curl -s 'http://127.0.0.1:", // files, and REST
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the demo does not show %q:\n%s", want, text)
		}
	}
	if !strings.HasSuffix(text, "\ndemo: ok\n") {
		t.Errorf("the last line is not demo: ok:\n%s", text)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A server of another kind is asked in its own words.
func TestDemoWithKoboldCpp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	model := koboldcpptest.New(t, koboldcpptest.Options{Reply: func(string) []string { return []string{"低い男の", "声だった。"} }})
	out := new(bytes.Buffer)
	if err := Run(t.Context(), Options{ModelURL: model.URL, ModelKind: "koboldcpp", Out: out}); err != nil || !strings.Contains(out.String(), "低い男の声だった。") {
		t.Errorf("%v\n%s", err, out)
	}
}

// watched fails the test when the demo says that it is ok while its data are still there.
type watched struct {
	bytes.Buffer
	t   *testing.T
	dir string
}

func (w *watched) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte("demo: ok")) {
		if left, err := os.ReadDir(w.dir); err != nil || len(left) > 0 {
			w.t.Errorf("demo: ok before the cleanup: %v, %v", left, err)
		}
	}
	return w.Buffer.Write(text)
}

func TestDemoSaysWhatToDo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"no address":        {Options{ModelURL: "my model", ModelKind: "llamacpp"}, `MODEL_URL (--model-url) is "my model"; it must be an address such as http://127.0.0.1:8080`},
		"unknown kind":      {Options{ModelURL: "http://127.0.0.1:9", ModelKind: "x"}, `MODEL_KIND (--model-kind) is "x"; it must be llamacpp or koboldcpp`},
		"both wrong":        {Options{ModelURL: "ftp://x", ModelKind: "x"}, `MODEL_URL (--model-url) is "ftp://x"; it must be an address such as http://127.0.0.1:8080; MODEL_KIND (--model-kind) is "x"`},
		"a kind alone":      {Options{ModelKind: "llamacpp"}, "MODEL_KIND (--model-kind) is given without MODEL_URL"},
		"nobody is there":   {Options{ModelURL: "http://127.0.0.1:9", ModelKind: "llamacpp"}, "MODEL_URL names http://127.0.0.1:9: nobody answers there"},
		"the person leaves": {Options{ModelURL: llmtest.New(t, llmtest.Options{}).URL, ModelKind: "llamacpp"}, "stopped before its end"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "the person leaves" {
				cancel()
			}
			out := new(bytes.Buffer)
			tt.o.Out = out
			err := Run(ctx, tt.o)
			if out.Len() > 0 {
				t.Errorf("before the refusal it showed %q", out)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
