package envelope

import (
	"slices"
	"strconv"
	"strings"
)

// Code is why an answer cannot be used.
type Code string

// The codes.
const (
	CutOff         Code = "CUT_OFF"
	TooLarge       Code = "TOO_LARGE"
	InvalidUTF8    Code = "INVALID_UTF8"
	Empty          Code = "EMPTY"
	OnlyThinking   Code = "ONLY_THINKING"
	ThinkingOpen   Code = "THINKING_OPEN"
	NoObject       Code = "NO_OBJECT"
	NotAnObject    Code = "NOT_AN_OBJECT"
	SeveralObjects Code = "SEVERAL_OBJECTS"
	TooManyObjects Code = "TOO_MANY_OBJECTS"
	StrayText      Code = "STRAY_TEXT"
	NotJSON        Code = "NOT_JSON"
	NotClosed      Code = "NOT_CLOSED"
	TooDeep        Code = "TOO_DEEP"
	DuplicateKey   Code = "DUPLICATE_KEY"
	LoneSurrogate  Code = "LONE_SURROGATE"
	HasNUL         Code = "HAS_NUL"
	UnknownKey     Code = "UNKNOWN_KEY"
	Untouchable    Code = "UNTOUCHABLE"
	Missing        Code = "MISSING"
	WrongType      Code = "WRONG_TYPE"
	WrongValue     Code = "WRONG_VALUE"
	Blank          Code = "BLANK"
	TooLong        Code = "TOO_LONG"
	TooMany        Code = "TOO_MANY"
	MendedArgs     Code = "MENDED_ARGS"
	Invisible      Code = "INVISIBLE"
	CallsTwice     Code = "CALLS_TWICE"
	CallsAlone     Code = "CALLS_ALONE"
)

// Reason is one thing that is wrong with an answer.
type Reason struct {
	Code Code `json:"code"`
	// Path is the field, as in plan.steps[1]; empty where the answer as a whole is meant.
	Path string `json:"path,omitempty"`
	// Found is what stands there and Want what could, both short.
	Found string `json:"found,omitempty"`
	Want  string `json:"want,omitempty"`
	// Line and Column count from 1, columns in code points; 0 where the place is not told.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Error says why an answer cannot be used: all reasons, at most MaxReasons.
type Error struct {
	Reasons []Reason
	// More is how many reasons are left out.
	More int
}

// Error gives all sentences in English.
func (e *Error) Error() string {
	return "the model's answer cannot be used: " + strings.Join(e.sentences("en"), "; ")
}

func fail(reasons []Reason) *Error {
	n := min(len(reasons), MaxReasons)
	return &Error{Reasons: slices.Clip(reasons[:n]), More: len(reasons) - n}
}

// sentences are the reasons in words; a reason that says the same as another is told once.
func (e *Error) sentences(locale string) []string {
	var all []string
	for _, r := range e.Reasons {
		if s := r.Sentence(locale); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if e.More > 0 {
		all = append(all, strings.Replace(speak(locale, more), "{n}", count(e.More), 1))
	}
	return all
}

// Ask is the message with which the model is asked again, in Japanese for the locale "ja" and else in English.
func (e *Error) Ask(locale string) string {
	return speak(locale, again) + "\n- " + strings.Join(e.sentences(locale), "\n- ") + "\n" + speak(locale, form)
}

// phrase is a text in English and in Japanese.
type phrase [2]string

func speak(locale string, p phrase) string {
	if locale == "ja" {
		return p[1]
	}
	return p[0]
}

var (
	again = phrase{"Your last answer cannot be used, and nothing of it was done. Reasons:", "直前の回答は使えず、何も実行されていません。理由:"}
	form  = phrase{
		"Answer again with exactly one complete JSON object of the form above, and nothing before or after it. Take no field over that you do not mean.",
		"上の形式の完全なJSONオブジェクトを1つだけ、前後に何も付けずに、もう一度出力してください。意図しない項目は書かないでください。",
	}
	more  = phrase{"and {n} more reasons", "ほか{n}件"}
	place = phrase{" (line {line}, column {column}: {found})", "（{line}行{column}文字目: {found}）"}
)

// phrases say each Code. {path}, {found} and {want} are those of the reason.
var phrases = map[Code]phrase{
	CutOff:         {"it was cut off because it became too long; make it shorter", "長すぎて途中で切れました。短くしてください"},
	TooLarge:       {"it has {found} bytes; at most {want} are read", "{found}バイトあります。読めるのは{want}バイトまでです"},
	InvalidUTF8:    {"{path} is no valid UTF-8", "{path}が正しいUTF-8ではありません"},
	Empty:          {"it is empty", "空です"},
	OnlyThinking:   {"there is nothing behind the thinking", "考えたことの後に何もありません"},
	ThinkingOpen:   {"the thinking does not end", "考えたことが閉じられていません"},
	NoObject:       {"there is no JSON object in it", "JSONオブジェクトがありません"},
	NotAnObject:    {"it must be a JSON object, not an array", "配列ではなくJSONオブジェクトでなければなりません"},
	SeveralObjects: {"there are {found} objects in it; there must be exactly one", "オブジェクトが{found}個あります。ちょうど1個でなければなりません"},
	TooManyObjects: {"there are more than {want} objects in it", "オブジェクトが{want}個を超えています"},
	StrayText:      {"there is a part of another object around the object", "オブジェクトの外に別のオブジェクトの一部があります"},
	NotJSON:        {"the object is no valid JSON; {want} was expected", "正しいJSONではありません。{want}が必要です"},
	NotClosed:      {"the object does not end; {want} was expected", "オブジェクトが閉じられていません。{want}が必要です"},
	TooDeep:        {"brackets stand in each other deeper than {want}", "括弧の入れ子が{want}段を超えています"},
	DuplicateKey:   {"{path} is there twice", "{path}が2回あります"},
	LoneSurrogate:  {"{path} has half of a surrogate pair", "{path}に片方だけのサロゲートがあります"},
	HasNUL:         {"{path} has a NUL character", "{path}にNUL文字があります"},
	UnknownKey:     {"there is no field {path}; known here: {want}", "{path}という項目はありません。使えるもの: {want}"},
	Untouchable:    {"{path} is not yours to change; you may change {want}", "{path}は変更できません。変更できるもの: {want}"},
	Missing:        {"{path} is missing", "{path}がありません"},
	WrongType:      {"{path} is of the type {found}; it must be {want}", "{path}の型が{found}です。{want}でなければなりません"},
	WrongValue:     {"{path} is {found}; it must be {want}", "{path}が{found}です。{want}でなければなりません"},
	Blank:          {"{path} is empty", "{path}が空です"},
	TooLong:        {"{path} has the length {found}; at most {want} is allowed", "{path}の長さが{found}です。{want}までです"},
	TooMany:        {"{path} has {found} items; at most {want} are allowed", "{path}が{found}件あります。{want}件までです"},
	MendedArgs:     {"{path} must be strict JSON, without comments and without a comma before a closing bracket", "{path}は厳密なJSONでなければなりません。コメントや、閉じ括弧の前のカンマは使えません"},
	Invisible:      {"{path} is {found}, with control or invisible characters; it must have none", "{path}が{found}です。制御文字や見えない文字は使えません"},
	CallsAlone:     {"tools were called without the JSON object; none of them was run", "JSONオブジェクトなしでツールが呼ばれました。どれも実行されていません"},
	CallsTwice:     {"tools are called both in actions and as tool calls; use one of them", "actionsとツール呼び出しの両方があります。片方だけにしてください"},
}

// Sentence says the reason, in Japanese for the locale "ja" and else in English.
func (r Reason) Sentence(locale string) string {
	s := speak(locale, phrases[r.Code])
	if r.Line > 0 {
		s += speak(locale, place)
	}
	path := r.Path
	if path == "" {
		path = speak(locale, phrase{"the answer", "回答"})
	}
	return strings.NewReplacer("{path}", path, "{found}", r.Found, "{want}", r.Want, "{line}", strconv.Itoa(r.Line), "{column}", strconv.Itoa(r.Column)).Replace(s)
}

// shown is how much of what a model wrote a reason repeats, in code points.
const shown = 40

// quote gives the beginning of a text with nothing invisible in it.
func quote(s string) string {
	if short := cut(s, shown); short != s {
		return strconv.QuoteToGraphic(short + "…")
	}
	return strconv.QuoteToGraphic(s)
}

// excerpt gives what stands at a place.
func excerpt(src string, at int) string {
	if at >= len(src) {
		return "∎"
	}
	line, _, _ := strings.Cut(src[at:], "\n")
	return quote(cut(line, shown/2))
}

// position counts lines and columns from 1.
func position(src string, at int) (line, column int) {
	before := src[:min(at, len(src))]
	return 1 + strings.Count(before, "\n"), 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

func count(n int) string { return strconv.Itoa(n) }
