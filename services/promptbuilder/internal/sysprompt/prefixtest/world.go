// Package prefixtest plays sessions of an agent whose system prompt is made in one of several ways, and tells how many tokens
// a server that keeps the beginning of a prompt has to read again (field/systemprompt.md 5.1). For tests and benchmarks.
package prefixtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Size is how large a workload is.
type Size struct {
	Tools, Skills int
	// Body is that of the text of a skill, File that of each of the 7 files, Turn that of what is said in a turn, in characters.
	Body, File, Turn int
	// Turns are those of each session. What happens once in a session does so in its middle.
	Turns, Sessions int
}

// Real is a workload of real size: that of the proposal in field/systemprompt.md 5.1.
func Real() Size {
	return Size{Tools: 12, Skills: 10, Body: 6000, File: 1500, Turn: 150, Turns: 20, Sessions: 5}
}

func (s Size) middle() int { return (s.Turns + 1) / 2 }

// Event is what happens in a session.
type Event string

// The events.
const (
	None     Event = "none"
	Memory   Event = "memory"    // a line is added to MEMORY.md in every fifth turn
	Skill    Event = "skill"     // a skill is added
	Midnight Event = "midnight"  // the day ends
	Shuffle  Event = "shuffle"   // the tools are sent in another order in each turn
	Channel  Event = "channel"   // the user goes on in another channel
	SubAgent Event = "sub-agent" // a helper asks the same server
)

// Events are all of them.
func Events() []Event { return []Event{None, Memory, Skill, Midnight, Shuffle, Channel, SubAgent} }

// fileNames are those of a workspace.
var fileNames = []string{"IDENTITY.md", "SOUL.md", "AGENTS.md", "TOOLS.md", "USER.md", "HEARTBEAT.md", memoryFile}

const memoryFile = "MEMORY.md"

// rules are what the files, skills and turns consist of.
var rules = []string{
	"Never delete a file that you did not create; move it to the trash folder instead.",
	"返信は短く、敬体で書く。専門用語には一度だけ説明を添える。",
	"Run the tests of the package that you touched before you say that something works.",
	"外部へ送信する前に、宛先と本文を必ず利用者に確認する。",
	"Prefer the existing helper over a new one; ask when two of them seem to do the same.",
	"予定を入れるときは時差を確かめ、開始時刻と終了時刻の両方を書く。",
	"When a command fails twice in the same way, stop and show its output.",
	"長い作業では、十分ごとに進み具合を一行で知らせる。",
	"Quote paths with blanks, and use absolute paths in scripts that others run.",
	"個人情報は記録に残さず、必要なら「省略」と書き換える。",
}

// prose is a list of rules of so many characters, or a few more.
func prose(seed uint64, characters int) string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for n := 0; n < characters; {
		line := fmt.Sprintf("- %s（%d）\n", rules[rnd.IntN(len(rules))], rnd.IntN(1000))
		b.WriteString(line)
		n += utf8.RuneCountInString(line)
	}
	return b.String()
}

// skill is one with its text, which only some prompts hold.
type skill struct {
	sysprompt.Skill
	body string
}

func newSkill(size Size, i int) skill {
	name := fmt.Sprintf("%s-%d", []string{"mail", "calendar", "tasks", "notes", "search", "deploy"}[i%6], i)
	return skill{sysprompt.Skill{
		Name: name, Location: "/skills/" + name + "/SKILL.md",
		Description: fmt.Sprintf("Work with %s: read, write and search entries, with examples. 利用者が%sの話をしたときに使う。", name, name),
	}, prose(uint64(100+i), size.Body)}
}

// world is what prompts are made of at one moment.
type world struct {
	size    Size
	tools   []sysprompt.Tool
	skills  []skill // in the order in which the folder lists them, which is not that of the names
	files   []sysprompt.File
	channel string
	session int // from 1
	now     time.Time
	// rnd draws request ids and orders.
	rnd *rand.Rand
}

func newWorld(size Size) *world {
	w := &world{size: size, channel: "slack", rnd: rand.New(rand.NewPCG(7, 7)), now: time.Date(2026, 3, 1, 14, 0, 3, 0, time.UTC)}
	for i := range size.Tools {
		name := append([]string{"read", "write", "exec", "session_status"}, "grep", "find", "edit", "browse", "fetch", "message", "image", "cron")
		t := sysprompt.Tool{Name: fmt.Sprintf("tool_%d", i), Summary: rules[(2*i)%len(rules)]}
		if i < len(name) {
			t.Name = name[i]
		}
		w.tools = append(w.tools, t)
	}
	for i := range size.Skills {
		w.skills = append(w.skills, newSkill(size, i))
	}
	w.rnd.Shuffle(len(w.skills), func(i, j int) { w.skills[i], w.skills[j] = w.skills[j], w.skills[i] })
	for i, name := range fileNames {
		w.files = append(w.files, sysprompt.File{Name: name, Content: []byte("# " + name + "\n\n" + prose(uint64(i), size.File))})
	}
	return w
}

// happen is what an event changes before a turn, the first of which is 1.
func (w *world) happen(event Event, turn int) {
	w.now = w.now.Add(37 * time.Second)
	if turn == 1 {
		w.session, w.channel = w.session+1, "slack"
	}
	middle := turn == w.size.middle()
	switch {
	case event == Memory && turn%5 == 0:
		last := &w.files[len(w.files)-1]
		last.Content = fmt.Appendf(slices.Clone(last.Content), "- 覚え書き %d-%d: the user prefers short answers.\n", w.session, turn)
	case event == Skill && middle:
		w.skills = slices.Insert(slices.Clone(w.skills), w.rnd.IntN(len(w.skills)), newSkill(w.size, w.size.Skills+w.session))
	case event == Midnight && middle:
		w.now = w.now.Truncate(24 * time.Hour).Add(24*time.Hour + time.Second)
	case event == Channel && middle:
		w.channel = "discord"
	case event == Shuffle:
		w.shuffle()
	}
}

// shuffle puts the tools into another order.
func (w *world) shuffle() {
	w.tools = slices.Clone(w.tools)
	w.rnd.Shuffle(len(w.tools), func(i, j int) { w.tools[i], w.tools[j] = w.tools[j], w.tools[i] })
}

// request is what BuildSystem is asked.
func (w *world) request(mode sysprompt.Mode) sysprompt.Request {
	r := sysprompt.Request{
		Mode: mode, Locale: "ja", Tools: w.tools, Files: w.files, Workspace: workspace, Zone: "Asia/Tokyo", Now: w.now,
		Runtime: sysprompt.Runtime{OS: system, Extra: map[string]string{"Channel": w.channel}},
		Sections: []sysprompt.Custom{
			{ID: "documentation", Text: documentation}, {ID: "heartbeats", Text: heartbeat},
		},
	}
	for _, k := range w.skills {
		r.Skills = append(r.Skills, k.Skill)
	}
	return r
}

// Request is what BuildSystem is asked for a workload at its beginning.
func (s Size) Request() sysprompt.Request { return newWorld(s).request(sysprompt.Full) }

// What all prompts say in the same words.
const (
	workspace     = "/srv/agent/workspace"
	system        = "Linux 6.18"
	documentation = "The manual is in /srv/agent/docs. Read it before you change a setting."
	heartbeat     = "When a heartbeat comes and nothing is to be done, answer HEARTBEAT_OK and nothing else."
)
