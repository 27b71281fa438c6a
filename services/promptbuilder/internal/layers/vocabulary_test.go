package layers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// vocabulary counts with the vocabulary of a model, as the backends that have it here do.
type vocabulary struct{ *tokenizer.Tokenizer }

func (vocabulary) Name() string { return "vocabulary" }

func (vocabulary) Exact() bool { return true }

func (vocabulary) Spent() (counts, characters int) { return 0, 0 }

func (v vocabulary) Count(_ context.Context, text string) (int, error) {
	return v.Tokenizer.Count(text, tokenizer.Options{}), nil
}

// one is a sysprompt.Counters with a single counter.
type one struct{ counts tokens.Counter }

func (o one) Counter(context.Context, string) (tokens.Counter, error) { return o.counts, nil }

// kinds are Japanese as it is written in different fields, without blanks.
var kinds = map[string]string{
	"prose": prose,
	"kanji": "環境影響評価準備書作成段階温室効果気体排出量算定方法検討委員会第三回議事録要約版公開前最終確認依頼同意取得手順書改訂案作業計画変更承認申請" +
		"関係部署合意形成済未解決課題一覧表更新担当者不在期間代理権限委譲条件確認必須事項本番環境移行判定基準策定期限厳守",
	"hiragana": "いまはむかしたけとりのおきなといふものありけりのやまにまじりてたけをとりつつよろづのことにつかひけりなをばさぬきのみやつことなむいひける" +
		"そのたけのなかにもとひかるたけなむひとすぢありけるあやしがりてよりてみるにつつのなかひかりたり",
	"katakana": "プロジェクトマネージャーノスケジュールヲアップデートシテレビューミーティングデフィードバックヲシェアスルサーバーノメモリリークヲモニタリングスルダッシュボード" +
		"アメニモマケズカゼニモマケズユキニモナツノアツサニモマケヌジョウブナカラダヲモチ",
	"mixed": "第2章「港の朝」は3,000字以内に縮める。GitHubのissue #128（REST APIの仕様）を読み、OAuth2.0の項を直す。①登場人物は増やさない②方言は控えめに③7月15日（水）18:00までに原稿.mdを保存！" +
		"締切は明日、担当は佐藤さん＆鈴木さん。",
}

// sutra is Chinese as the Heart Sutra has it: characters that are rare today.
const sutra = "観自在菩薩行深般若波羅蜜多時照見五蘊皆空度一切苦厄舎利子色不異空空不異色色即是空空即是色受想行識亦復如是舎利子是諸法空相不生不滅不垢不浄不増不減" +
	"是故空中無色無受想行識無眼耳鼻舌身意無色声香味触法無眼界乃至無意識界"

// taker gives one piece of a text after the other, each of so many characters, from the beginning again where it ends.
func taker(text string) func(int) string {
	all, at := []rune(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)), 0
	return func(n int) string {
		piece := make([]rune, n)
		for i := range piece {
			piece[i] = all[at%len(all)]
			at++
		}
		return string(piece)
	}
}

// counters are those that a session must fit by.
var counters = map[string]func(t *testing.T) tokens.Counter{
	"gemma": func(t *testing.T) tokens.Counter { // Skips where the small real model is not installed.
		t.Helper()
		v, err := openGemma(testkit.ModelDir(t))
		if err != nil {
			t.Fatal(err)
		}
		return vocabulary{v}
	},
	"o200k_base": func(t *testing.T) tokens.Counter {
		t.Helper()
		v, err := tokenizer.OpenAI("o200k_base")
		if err != nil {
			t.Fatal(err)
		}
		return vocabulary{v}
	},
}

// openGemma opens the vocabulary of the small real model in a folder, once: that takes seconds.
func openGemma(dir string) (*tokenizer.Tokenizer, error) {
	gemma.Do(func() { gemma.vocabulary, gemma.err = tokenizer.Open(filepath.Join(dir, "gemma.gguf")) })
	return gemma.vocabulary, gemma.err
}

var gemma struct {
	sync.Once
	vocabulary *tokenizer.Tokenizer
	err        error
}

// by builds a prompt whose tokens a counter counts.
func by(t *testing.T, c tokens.Counter, r Request) (Prompt, error) {
	t.Helper()
	b := NewBuilder(sysprompt.NewBuilder(noRoots{}, one{c}, sysprompt.Defaults{}))
	r.System.Backend = "one"
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return b.Build(t.Context(), r)
}

// fits says that nothing of a session has to be cut.
func fits(t *testing.T, c tokens.Counter, what string, r Request) {
	t.Helper()
	p, err := by(t, c, r)
	if err != nil || len(p.Cuts) > 0 {
		t.Errorf("%s: %v, cut: %v", what, err, p.Cuts)
		return
	}
	for _, l := range p.Layers[:3] {
		if l.Tokens == 0 || l.Tokens > l.Budget {
			t.Errorf("%s: %+v", what, l)
		}
	}
}

// all is fullOf with what is off by default.
func all(text func(int) string) Request {
	r := fullOf(text)
	r.State.ShowCounters, r.State.Conversations, r.State.LastUpdated = true, 123456, "2026-07-04T12:05:00+09:00"
	return r
}

// Every value at its limit fits the default budgets by multilingual vocabularies, however Japanese is written
// (field/systemprompt-rules.md 3.3 and 7.11). Evidence has what room is left, and nothing else goes for it.
func TestLegalSessionsFit(t *testing.T) {
	t.Parallel()
	for name, open := range counters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			for kind, text := range kinds {
				for step := range steps {
					r := all(taker(text))
					r.State.Step = step
					fits(t, c, kind+" "+step, r)
				}
			}
			r := all(taker(prose))
			for range lastEvidence {
				r.State.Evidence = append(r.State.Evidence, Evidence{"read", chars(maxEvidence)})
			}
			if p, err := by(t, c, r); err != nil || len(p.Cuts) == 0 || slices.ContainsFunc(p.Cuts, func(c Cut) bool { return c.Item != "evidence" }) {
				t.Errorf("with evidence: %v, %v", p.Cuts, err)
			}
			t.Run("a novel", func(t *testing.T) {
				text, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
				if err != nil {
					t.Fatal(err)
				}
				take := taker(string(text))
				for place := range 20 {
					fits(t, c, fmt.Sprint("piece ", place), all(take))
					take(5000)
				}
			})
		})
	}
	est1, _ := tokens.Estimate(tokens.NameEst1)
	fits(t, est1, "the estimate, which counts high", full())
}

// Rare characters cost more: by gemma they fit, too, and by o200k_base the oldest summary and turn give way.
func TestRareCharacters(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"gemma": "", "o200k_base": " summary exchange"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := by(t, counters[name](t), fullOf(taker(sutra)))
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, c := range p.Cuts {
				got += " " + c.Item
			}
			if got != want {
				t.Errorf("cut%s, want%s", got, want)
			}
		})
	}
}

// A base of the caller's at its limit of 1,000 characters leaves no room for all summaries in the default budget, or none for what is
// never cut: then the error says so. With a budget of 2,000 tokens all of it fits.
func TestOwnBaseAtItsLimit(t *testing.T) {
	t.Parallel()
	for name, open := range counters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			for kind, text := range kinds {
				r := all(taker(text))
				ownBase(t, &r, taker(text))
				p, err := by(t, c, r)
				var over *OverflowError
				switch {
				case errors.As(err, &over):
					if over.Layer != "base" || over.Limit != DefaultBase || over.Sections["base"] == 0 {
						t.Errorf("%s: %+v", kind, over)
					}
				case err != nil:
					t.Fatal(err)
				default:
					if len(p.Cuts) == 0 || p.Cuts[0] != (Cut{"summary", "base", p.Cuts[0].Before, p.Cuts[0].After}) {
						t.Errorf("%s: %v", kind, p.Cuts)
					}
				}
				r.State.Budgets.Base = 2 * DefaultBase
				fits(t, c, kind, r)
			}
		})
	}
}

// ownBase puts a base of the caller's into a request, as large as it may be.
func ownBase(t *testing.T, r *Request, text func(int) string) {
	t.Helper()
	lines := []string{"x"}
	r.State.Base = Base{Personality: &lines}
	n := maxBase - passage.Characters.Size(sysprompt.IdentityLine(r.System)+"\n\n"+r.writer().base().Text)
	lines[0] = text(1 + n)
	if _, wrong := builder().Prepare(*r); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	whole := lines[0]
	lines[0] += "x"
	if _, wrong := builder().Prepare(*r); len(wrong) != 1 {
		t.Fatal("a larger one is taken, too")
	}
	lines[0] = whole
}
