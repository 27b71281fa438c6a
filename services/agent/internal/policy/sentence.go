package policy

import (
	"fmt"
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// pair is a text in English and in Japanese.
type pair [2]string

// in gives the text for a locale: Japanese for `ja`, English for all others.
func (p pair) in(locale string) string {
	if locale == "ja" {
		return p[1]
	}
	return p[0]
}

const maxShown = 300 // characters of a path, name or reason in a sentence

var verdicts = map[Verdict]pair{
	Deny:  {"The call of %s is refused.", "%s の呼び出しは拒否されます。"},
	Ask:   {"The call of %s needs a person's approval.", "%s の呼び出しには人の承認が必要です。"},
	Allow: {"The call of %s is allowed.", "%s の呼び出しは許可されます。"},
}

// fits and passes say what was looked at: %[1]s is the rule, %[2]s the file.
var fits = map[Step]pair{
	StepTool:      {"Nobody knows where this tool comes from, so it is refused.", "このツールの出所が分からないため、拒否します。"},
	StepExtension: {"Files of the kind of %[2]s are never written.", "%[2]s のような種類のファイルには書き込めません。"},
	StepDeny:      {"The rule %[1]s refuses it.", "規則 %[1]s が拒否します。"},
	StepAsk:       {"The rule %[1]s asks a person.", "規則 %[1]s が人の承認を求めます。"},
	StepAllow:     {"The rule %[1]s allows it.", "規則 %[1]s が許可します。"},
	StepStanding:  {"A person allowed this for the session (%[1]s).", "このセッションでは人が許可しています（%[1]s）。"},
	StepKind:      {"Files of the kind of %[2]s are in no list, so a person is asked.", "%[2]s の種類のファイルはどの一覧にもないため、人の承認を求めます。"},
	StepRisk:      {"Its risk is high or not known, so a person is asked.", "危険度が高いか不明なため、人の承認を求めます。"},
	StepRepeated:  {"An equal call ended in a way that nobody knows, so a person is asked.", "同じ呼び出しの結果が不明なままのため、人の承認を求めます。"},
	StepElsewhere: {"It would change something outside of the step EXECUTION, so a person is asked.", "EXECUTION 以外の段階で変更を行うため、人の承認を求めます。"},
}

var passes = map[Step]pair{
	StepExtension: {"No file of a kind that is never written.", "書き込めない種類のファイルはありません。"},
	StepStanding:  {"What a person allowed for the session (%[1]s) does not cover it.", "このセッションで人が許可した内容（%[1]s）には含まれません。"},
	StepKind:      {"Files of the kind of %[2]s may be written.", "%[2]s の種類のファイルには書き込めます。"},
	StepRisk:      {"Its risk is known, and not too high.", "危険度は分かっており、高すぎません。"},
	StepElsewhere: {"The session is in the step EXECUTION.", "セッションは EXECUTION の段階です。"},
}

var (
	byDefaultAsk   = pair{"No rule fits: what may change something is asked about.", "当てはまる規則がありません。変更を伴うものは人の承認を求めます。"}
	byDefaultAllow = pair{"No rule fits: what only looks is allowed.", "当てはまる規則がありません。見るだけのものは許可します。"}
	missed         = pair{"The rule %s does not fit: %s.", "規則 %s は当てはまりません（%s）。"}
	because        = pair{" Reason: %s", " 理由: %s"}
	decides        = pair{" This decides.", " これで決まります。"}
	nothingKnown   = pair{"There is no policy to judge it by.", "判断するための方針がありません。"}
	riskIs         = pair{"Risk: %s.", "危険度: %s。"}
)

var conditions = map[Condition]pair{
	OnTool: {"it is for another tool", "別のツールのための規則です"}, OnPath: {"it is for other paths", "別のパスのための規則です"},
	OnAnnotations: {"it is for another kind of tool", "別の種類のツールのための規則です"}, OnRisk: {"the risk is lower", "危険度がそれより低いです"},
	OnRole: {"the caller has not that role", "呼び出し元にその役割がありません"}, OnRoot: {"it is for another work folder", "別の作業フォルダのための規則です"},
}

var levelNames = map[Risk]pair{Unknown: {"not known", "不明"}, Low: {"low", "低"}, Medium: {"medium", "中"}, High: {"high", "高"}}

// reasons: %[1]s is what, %[2]s where, %[3]d how many, %[4]d the threshold, %[5]s the level.
var reasons = map[Code]pair{
	CodeLooks: {"it changes nothing", "何も変更しません"}, CodeWrites: {"it writes a file", "ファイルに書き込みます"}, CodeCreates: {"it makes a file", "ファイルを作成します"},
	CodeMoves: {"it moves a file", "ファイルを移動します"}, CodeDeletes: {"it deletes a file", "ファイルを削除します"}, CodeExecutes: {"it runs a program", "プログラムを実行します"},
	CodeOfClient: {"the client runs the tool", "クライアントのツールです"}, CodeOfServer: {"the server %[1]s runs the tool", "サーバー %[1]s のツールです"},
	CodeNoOrigin: {"nobody knows what this tool does", "このツールが何をするか分かりません"}, CodeSaysDestructive: {"the tool says that it may destroy", "破壊的なツールだと宣言されています"},
	CodeSaysOpenWorld: {"the tool says that it reaches beyond the work folder", "作業フォルダの外に及ぶツールだと宣言されています"},
	CodeManyFiles:     {"it changes %[3]d files (from %[4]d it is high)", "%[3]d 個のファイルを変更します（%[4]d 個以上で高）"},
	CodeManyBytes:     {"it changes %[3]d bytes (from %[4]d it is high)", "%[3]d バイトを変更します（%[4]d バイト以上で高）"},
	CodeSecret:        {"%[2]s has what looks like a secret (%[1]s, %[3]d times)", "%[2]s に秘密情報らしきものがあります（%[1]s、%[3]d 件）"},
	CodeNotSearched:   {"it is too long to be searched for secrets (at most %[4]d bytes are)", "長すぎるため秘密情報を調べきれません（%[4]d バイトまで）"},
	CodeNotMeasured:   {"nobody knows how much it changes", "どれだけ変更するか分かりません"}, CodeNotShown: {"something of it cannot be shown", "表示できない部分があります"},
	CodeInPages:          {"what it changes fills several pages (%[3]d bytes)", "変更内容が複数ページにわたります（%[3]d バイト）"},
	CodeUnknownExtension: {"%[1]s is a file of a kind that is in no list", "%[1]s はどの一覧にもない種類のファイルです"},
	CodeModelSays:        {"the model says that it is %[5]s", "モデルが危険度を「%[5]s」と述べています"},
	CodePlan:             {"it lets work begin, of which each change is judged by itself", "作業が始まります（変更は一つずつ個別に判断されます）"},
	CodeResult:           {"it lets the task end, and changes nothing", "タスクが終わります（何も変更しません）"},
	CodeOutcome:          {"nobody knows whether the call happened", "呼び出しが実行されたかどうか分かりません"},
}

// Sentences tells a person why a call is refused, asked about or allowed: the verdict, what was looked at in order and which of it
// decided, and the risk with its reasons. Japanese for the locale `ja`, else English. Names and paths are plain text (S24).
func (x Explanation) Sentences(locale string) []string {
	out := []string{fmt.Sprintf(verdicts[x.Verdict].in(locale), show(x.Tool))}
	if x.Decided < 0 {
		return append(out, nothingKnown.in(locale))
	}
	for i, l := range x.Looks {
		s := l.Sentence(locale)
		if i == x.Decided {
			s += decides.in(locale)
		}
		out = append(out, s)
	}
	return append(out, x.Risk.Sentences(locale)...)
}

func show(s string) string { return tool.PlainLine(s, maxShown) }

// fill is fmt.Sprintf for texts that use some of the values.
func fill(text string, values ...any) string {
	const none = "%.0[1]s" // takes the first value, prints nothing: then no text complains of values that it leaves out
	return fmt.Sprintf(text+none, values...)
}

// Sentence tells what was looked at.
func (l Look) Sentence(locale string) string {
	var s string
	switch {
	case l.Misses != "":
		return fmt.Sprintf(missed.in(locale), show(l.Rule), conditions[l.Misses].in(locale))
	case l.Step == StepDefault && l.Verdict == Allow:
		return byDefaultAllow.in(locale)
	case l.Step == StepDefault:
		return byDefaultAsk.in(locale)
	case l.Fits:
		s = fill(fits[l.Step].in(locale), show(l.Rule), show(l.What))
	default:
		s = fill(passes[l.Step].in(locale), show(l.Rule), show(l.What))
	}
	if l.Reason != "" {
		s += fmt.Sprintf(because.in(locale), show(l.Reason))
	}
	return s
}

// Sentences tells the risk and what it comes from.
func (a Assessment) Sentences(locale string) []string {
	out := []string{fmt.Sprintf(riskIs.in(locale), levelNames[a.Level].in(locale))}
	for _, r := range a.Reasons {
		where := r.Where
		if where == "" {
			where = "-"
		}
		out = append(out, "- "+fill(reasons[r.Code].in(locale), show(r.What), show(where), r.Number, r.Limit, levelNames[r.Level].in(locale)))
	}
	return out
}

// Text is the rule as it is shown to the person who is about to allow it, word for word what it will do.
func (s Standing) Text(locale string) string {
	until := s.Expires.UTC().Format("2006-01-02 15:04 UTC")
	if s.Scope == SessionExact {
		return fmt.Sprintf(pair{
			"Until this session ends, at the latest %[2]s, the same call of %[1]s with the same arguments is made without asking again.",
			"このセッションが終わるまで（遅くとも %[2]s まで）、同じ引数での %[1]s の呼び出しを確認なしで実行します。",
		}.in(locale), show(s.Tool), until)
	}
	return fmt.Sprintf(pair{
		"Until this session ends, at the latest %[2]s, every call of %[1]s on %[3]s and what lies below it is made without asking again.",
		"このセッションが終わるまで（遅くとも %[2]s まで）、%[3]s とその下に対する %[1]s の呼び出しをすべて確認なしで実行します。",
	}.in(locale), show(s.Tool), until, strconv.Quote(show(s.Path)))
}
