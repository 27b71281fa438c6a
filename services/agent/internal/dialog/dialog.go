// Package dialog looks at a reply for breaches of the Dialog Policy (seed 001, 9.2) that can be seen in the text alone:
//
//   - Clarify: at most one question.
//   - Propose: A/B only when there are two or more options.
//   - Summarize: a summary only after a long reply.
//   - Nudge: a first step only for a person who has written that they are stuck.
//
// Consent before writing, deleting and executing (Gate) is not a matter of words: the gate holds it.
//
// What is found becomes a warning beside the reply; nothing is refused or changed for it. The rules prefer to miss a breach over
// to warn of ordinary text: quotes, code, headings, and what the person has asked for do not count.
package dialog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LongReply is how many code points make a reply long, if Turn.LongReply is 0: the default of the text `dialog_policy`.
const LongReply = 600

// MaxQuestions is how many questions a reply may ask (seed 001, 9.2).
const MaxQuestions = 1

// MaxRead is how much of each text is looked at, in bytes; a longer reply is not judged.
const MaxRead = 256 << 10

// Code is a breach.
type Code string

// The breaches.
const (
	TooManyQuestions Code = "TOO_MANY_QUESTIONS"
	OneAlternative   Code = "ONE_ALTERNATIVE"
	NeedlessSummary  Code = "NEEDLESS_SUMMARY"
	NeedlessNudge    Code = "NEEDLESS_NUDGE"
)

// Turn is what is judged.
type Turn struct {
	// Said is what the person wrote last; empty where that is not known, and then no nudge is judged.
	Said string
	// Reply is what the model answers, Question its question beside it (C32 of field/review-agent.md); a question that stands in
	// both counts once.
	Reply, Question string
	// LongReply is how many code points make a reply long; 0 is the package's.
	LongReply int
}

// Warning is a breach that was seen.
type Warning struct {
	Code Code `json:"code"`
	// Count is how many questions or code points there were, Limit how many there may, or must, be; 0 where nothing is counted.
	Count int `json:"count,omitempty"`
	Limit int `json:"limit,omitempty"`
}

// sentences say each breach in English and in Japanese.
var sentences = map[Code][2]string{
	TooManyQuestions: {"the reply asks {count} questions; the Dialog Policy allows {limit}", "質問が{count}個あります。Dialog Policyでは最大{limit}個です"},
	OneAlternative:   {"the reply names an option A and no other; A/B is for two or more options", "A案だけで、ほかの案がありません。A/Bは案が2つ以上のときだけです"},
	NeedlessSummary:  {"the reply has {count} characters and ends with a summary; that is for replies of {limit} or more", "{count}文字の返答に要約が付いています。要約は{limit}文字以上の返答だけです"},
	NeedlessNudge:    {"the reply ends with a first step, and the user has not written that they are stuck", "困っていると書かれていないのに、最初の一歩が付いています"},
}

// Sentence says the breach, in Japanese for the locale "ja" and else in English.
func (w Warning) Sentence(locale string) string {
	s := sentences[w.Code][0]
	if locale == "ja" {
		s = sentences[w.Code][1]
	}
	return strings.NewReplacer("{count}", strconv.Itoa(w.Count), "{limit}", strconv.Itoa(w.Limit)).Replace(s)
}

// Check gives the breaches of a reply, in a fixed order.
func Check(t Turn) []Warning {
	if len(t.Reply)+len(t.Question) > MaxRead || len(t.Said) > MaxRead {
		return nil
	}
	if t.LongReply <= 0 {
		t.LongReply = LongReply
	}
	var out []Warning
	if n := questions(t); n > MaxQuestions {
		out = append(out, Warning{TooManyQuestions, n, MaxQuestions})
	}
	text := plain(t.Reply)
	if oneAlternative(text, t.Said) {
		out = append(out, Warning{Code: OneAlternative})
	}
	if n := utf8.RuneCountInString(t.Reply); n < t.LongReply && summarized(text) && !asksFor.summary.MatchString(t.Said) {
		out = append(out, Warning{NeedlessSummary, n, t.LongReply})
	}
	if t.Said != "" && nudges(text) && !asksFor.help.MatchString(t.Said) {
		out = append(out, Warning{Code: NeedlessNudge})
	}
	return out
}

// asksFor are signs that the person wants what would else be a breach.
var asksFor = struct{ questions, summary, help *regexp.Regexp }{
	questions: regexp.MustCompile(`(?i)質問|問題|問い|設問|クイズ|アンケート|面接|インタビュー|チェックリスト|question|quiz|interview|survey|FAQ|checklist|riddle`),
	summary:   regexp.MustCompile(`(?i)要約|まとめ|要点|概要|一言で|summar|sum up|recap|overview|tl;?dr|in short`),
	help: regexp.MustCompile(`(?i)困|分から|わから|判ら|詰ま|詰ん|できな|出来な|できませ|動かな|動きませ|エラー|助け|迷|どうすれば|どうしたら|どうやって|悩|失敗|うまくいか|難し|` +
		`一歩|どこから|何から|まず|次は|手順|やり方|stuck|help|know|can't|cannot|can not|unable|confus|trouble|error|fail|lost|how|not work|n't work|problem|struggl|idea|` +
		`difficult|hard|step|start|begin|first|next`),
}

var (
	fenced = regexp.MustCompile("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)")
	// quoted is code and speech of others in a line, and addresses.
	quoted = regexp.MustCompile("`[^`\n]*`" + `|「[^」]*」|『[^』]*』|“[^”]*”|"[^"\n]*"|«[^»]*»|https?://[^\s　]+`)
	// aside is in brackets.
	aside = regexp.MustCompile(`\([^()\n]*\)|（[^（）\n]*）`)
	// apart are lines that are no prose: headings, quotes, rows of tables, lines all bold, and code that is indented.
	apart = regexp.MustCompile(`(?m)^(?:[ \t]*(?:#|>|\|).*|[ \t]*\*\*[^*\n]+\*\*[ \t]*|(?: {4}|\t).*)$`)
)

// plain is a text without its code, where its lines still stand.
func plain(s string) string {
	return fenced.ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}

// prose is a text without anything that is not said by who writes it. In place of what goes stands a word, so that a sentence
// around it stays one.
func prose(s string) string {
	s = apart.ReplaceAllString(plain(s), "")
	return aside.ReplaceAllString(quoted.ReplaceAllString(s, "…"), "…")
}

var (
	// sentence is one with its end.
	sentence = regexp.MustCompile(`[^。．！？!?\n]*(?:[。．！？!?]+|\n|$)`)
	// asked are ends of a question in Japanese that need no mark.
	asked = regexp.MustCompile(`(?:ますか|ですか|でしょうか|ませんか)。$`)
	// said are such ends that ask nothing: an opinion, and that one has understood.
	said = regexp.MustCompile(`(?:ではないでしょうか|じゃないでしょうか|のではありませんか|そうですか)。$`)
	// answers are beginnings of sentences that answer the question before them.
	answers = regexp.MustCompile(`(?i)^[ 　]*(?:それは|なぜなら|答えは|理由は|because|the answer|it's because|since|yes\b|no\b|はい|いいえ)`)
)

// questions counts the different questions that a reply asks. In a long one, which may be a story or an essay, only the last two
// paragraphs are read: that is where the person is asked.
func questions(t Turn) int {
	if !mayAsk(t.Reply) && !mayAsk(t.Question) || asksFor.questions.MatchString(t.Said) {
		return 0
	}
	reply := plain(t.Reply)
	if all := paragraphs(reply); utf8.RuneCountInString(t.Reply) >= t.LongReply && len(all) > 2 {
		reply = strings.Join(all[len(all)-2:], "\n\n")
	}
	var asks []string
	for _, text := range []string{reply, t.Question} {
		all := sentence.FindAllString(prose(text), -1)
		for i, s := range all {
			next := ""
			if i+1 < len(all) {
				next = all[i+1]
			}
			key := strings.Trim(s, " 　\t\n…-*•・0123456789.)")
			if question(s, next) && !answers.MatchString(next) && !slices.Contains(asks, key) {
				asks = append(asks, key)
			}
		}
	}
	return len(asks)
}

// mayAsk says whether a text has any sign of a question: most replies have none, and need not be taken apart.
func mayAsk(text string) bool {
	return strings.ContainsAny(text, "?？") || strings.Contains(text, "か。")
}

// question says that a sentence asks. A mark counts behind a word and before a blank, a bracket or another script, so not that of
// `colou?r` or of `?.`.
func question(s, next string) bool {
	if asked.MatchString(s) {
		return !said.MatchString(s)
	}
	words := strings.TrimRight(s, "?？!！")
	if words == s || !strings.ContainsAny(s[len(words):], "?？") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(words)
	first, _ := utf8.DecodeRuneInString(next)
	if !word(last) {
		return false
	}
	goesOn := first < utf8.RuneSelf && word(first) || strings.ContainsRune(".,;:=&/\\", first)
	return strings.HasSuffix(s, "？") || next == "" || !goesOn
}

// word says so of letters and digits of any script, and of what stands for something taken out.
func word(r rune) bool {
	return r > ' ' && !strings.ContainsRune("([{<=&|/\\+*^$.,;:-（［｛、・", r)
}

var (
	// option is a label of an option at the beginning of a line.
	option = regexp.MustCompile(`(?mi)^[ \t　]*(?:[-*•・#]+[ \t]*)?(?:\*\*)?(?:(?:案|プラン|選択肢|提案)[ 　]?([A-DＡ-Ｄ])|([A-DＡ-Ｄ])案|(?:option|plan|alternative|choice|proposal) ([A-D]))(?:\*\*)?[ \t]*(?:[:：.．)）]|[-–—] |$)`)
	// named is a letter that stands alone.
	named = regexp.MustCompile(`(?:^|[^A-Za-zＡ-Ｚａ-ｚ])[AＡ](?:[^A-Za-zＡ-Ｚａ-ｚ]|$)`)
	// others are signs of more options under another label.
	others = regexp.MustCompile(`(?i)[B-DＢ-Ｄ]案|案[ 　]?[B-DＢ-Ｄ]|(?:option|plan|alternative|choice|proposal|プラン|選択肢|提案)[ 　]?[B-DＢ-Ｄ]\b|(?m:^[ \t]*(?:[-*]+[ \t]*)?[BＢ][.:：)）])`)
)

// oneAlternative says that a reply puts forward an option A and no other. A person who has named A before is being answered.
func oneAlternative(text, said string) bool {
	labels := option.FindAllStringSubmatch(text, -1)
	if len(labels) == 0 || named.MatchString(said) || others.MatchString(text) {
		return false
	}
	return !slices.ContainsFunc(labels, func(m []string) bool {
		letter := m[1] + m[2] + m[3]
		return !strings.EqualFold(letter, "A") && !strings.EqualFold(letter, "Ａ")
	})
}

var (
	// summary is the beginning of a paragraph that says again what was said.
	summary = regexp.MustCompile(`(?i)^[ \t　]*(?:#+[ \t]*|\*\*)?(?:(?:要約|まとめ|summary|tl;dr|in summary|recap)(?:\*\*)?[ \t]*(?:[:：]|\*\*|\n|$)|以上をまとめると|まとめると、|in summary,|to summari[sz]e,|to sum up,)`)
	// step is the beginning of a last line that gives a first step.
	step = regexp.MustCompile(`(?i)^[ \t　]*(?:[-*•・>→]+[ \t]*)?(?:\*\*)?(?:まず(?:は)?)?(?:、)?(?:最初の一歩|はじめの一歩|first step|your first step)(?:\*\*)?[ \t]*(?:[:：]|は|として|\*\*[:：])`)
)

// paragraphs are the parts of a text between empty lines.
func paragraphs(text string) []string {
	var out []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.Trim(p, "\n"); strings.TrimSpace(p) != "" {
			out = append(out, p)
		}
	}
	return out
}

// summarized says that one of the last two paragraphs is a summary of what stands before it: the other may be the next move.
func summarized(text string) bool {
	all := paragraphs(text)
	if len(all) < 2 {
		return false
	}
	return slices.ContainsFunc(all[max(1, len(all)-2):], summary.MatchString)
}

// nudges says that the last line gives a first step.
func nudges(text string) bool {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return len(lines) > 1 && step.MatchString(lines[len(lines)-1])
}
