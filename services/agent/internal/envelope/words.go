package envelope

// Instructions are what a model without a constraint must be told beyond the form itself, which the prompt already ends with
// (seed 001, 3.2: the text `main.output` of the layers): the fields of ours, and the rules that Parse holds. In Japanese for
// the locale "ja" and else in English. With actions it is told how to call tools in the object; without, that part is left
// out: tools then come in the provider's own form, or not at all.
func Instructions(locale string, actions bool) string {
	text := speak(locale, rules)
	if actions {
		text += speak(locale, calling)
	}
	return text + speak(locale, alone)
}

var (
	rules = phrase{
		`These fields may be added to the JSON object; leave out those that you do not need:
- "reply": your answer to the user. Text outside of the object does not reach them.
- "question": the one question to the user (at most one; then "next_step" is "pending_user")
- "state_delta": instead of text, {"goal", "why_now", "plan_brief", "open_questions"} with new values ("plan_brief" at most 3 items, "open_questions" at most 2). The other items are not yours to change.
- "plan": {"name", "aim", "steps" (1 to 3), "risk", "criterion", "actions": [{"kind", "path", "description", "optional"}]}
- "review_verdict": approve / correct / reject (in REVIEW)
"goal_consistency" and "constraint_check" begin with "yes" or "no", then a colon and the reason.
`,
		`次の項目をJSONオブジェクトに加えることができます。不要な項目は書かないでください:
- "reply": ユーザーへの応答。オブジェクトの外の文章はユーザーに届きません
- "question": ユーザーへの質問（最大1つ。その場合 "next_step" は "pending_user"）
- "state_delta": 文章の代わりに {"goal", "why_now", "plan_brief", "open_questions"} の新しい値（"plan_brief" は最大3件、"open_questions" は最大2件）。他の項目は変更できません
- "plan": {"name", "aim", "steps"（1〜3件）, "risk", "criterion", "actions": [{"kind", "path", "description", "optional"}]}
- "review_verdict": 承認/要修正/拒否（REVIEWのとき）
"goal_consistency" と "constraint_check" は「はい」か「いいえ」（yes/no）で始め、コロンの後に理由を書いてください。
`,
	}
	calling = phrase{
		"- \"actions\": tools to call, in order: [{\"name\": \"name of the tool\", \"args\": {...}}] (at most 16)\n",
		"- \"actions\": 呼び出すツール（順番に）: [{\"name\": \"ツール名\", \"args\": {...}}]（最大16件）\n",
	}
	alone = phrase{
		"Write exactly one JSON object and nothing before or after it. Keys and values are written exactly as above; line breaks inside of texts as \\n.",
		"JSONオブジェクトを1つだけ書き、前後に何も付けないでください。キーと値は上のとおりに書き、文章の中の改行は \\n と書いてください。",
	}
)
