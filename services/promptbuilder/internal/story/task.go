package story

import "github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"

// Task is what the model is asked to do (seed 000, 2.4).
type Task string

// The tasks: those of an idea, and those of the two other modes.
const (
	GenInfo  Task = "GEN_INFO"
	GenZero  Task = "GEN_ZERO"
	ContInfo Task = "CONT_INFO"
	ContZero Task = "CONT_ZERO"
	IdeaInfo Task = "IDEA_INFO"
	IdeaZero Task = "IDEA_ZERO"
)

// continueFrom is how many lines that are not blank make a text one to be continued.
const continueFrom = 4

// instructions are what the models were trained on, word by word (seed 000, 2.5).
var instructions = map[Task]string{
	GenInfo:  "以下の情報に基づいて小説本文を生成してください。",
	GenZero:  "自由に小説を生成してください。",
	ContInfo: "参考情報と本文を踏まえ、最後の文章の自然な続きとなるように小説を生成してください。",
	ContZero: "本文を踏まえ、最後の文章の自然な続きとなるように小説を生成してください。",
	IdeaInfo: "以下の情報に基づいて、完全な小説のアイデア（タイトル、キーワード、ジャンル、あらすじ、設定、プロット）を生成してください。",
	IdeaZero: "自由に小説のアイデア（タイトル、キーワード、ジャンル、あらすじ、設定、プロット）を生成してください。",
}

// continues says that the task has a text to go on from.
func (t Task) continues() bool { return t == ContInfo || t == ContZero }

// instruction is the task in words, with the rating.
func (t Task) instruction(rating string) string {
	return instructions[t] + " レーティング: " + rating
}

// taskOf decides on the whole text, before anything is cut (field/wannabe.md 1.1 D10).
func taskOf(mode Mode, body string, w Work) Task {
	if mode == Idea {
		w.Summary, w.Memory = "", ""
	}
	long, told := hasContentLines(body, continueFrom), w.told()
	switch {
	case mode == Idea && told:
		return IdeaInfo
	case mode == Idea:
		return IdeaZero
	case long && told:
		return ContInfo
	case long:
		return ContZero
	case told:
		return GenInfo
	}
	return GenZero
}

// hasContentLines says that a text has at least n lines that are not blank. It reads no further than that.
func hasContentLines(body string, n int) bool {
	for start := 0; n > 0 && start < len(body); {
		end, size := textline.End(body[start:])
		if (line{text: body[start : start+end]}).content() {
			n--
		}
		start += end + size
	}
	return n == 0
}

// contentLines are the indexes of the lines that are not blank.
func contentLines(lines []line) []int {
	var all []int
	for i, l := range lines {
		if l.content() {
			all = append(all, i)
		}
	}
	return all
}
