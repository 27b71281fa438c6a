package prefixtest

import (
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Server reads prompts.
type Server interface {
	// Read tells how many tokens a prompt has, and how many of them it had from earlier ones.
	Read(prompt string) (tokens, cached int, err error)
	// Count gives the tokens of a text, without one that stands before each.
	Count(text string) int
}

// Tally is what was read. Turns, Tokens, Cached and Again leave the first request out, which is new to every server.
type Tally struct {
	// Turns are requests, those of helpers among them; Tokens those of their prompts; Cached those that the server had.
	Turns, Tokens, Cached int
	// Again are tokens that were read though they are not of the turn's own texts: the last answer and what the user says.
	Again int
	// First are the tokens of the first prompt.
	First int
	// Held are the requests whose part above the cache boundary is that of the one before; Lost are those of them of which the
	// server had fewer tokens than that part has, less 2, which the place of a cut may cost.
	Held, Lost int
	// Digests are how many different parts above the boundary prompts in mode FULL had.
	Digests int
}

// HitRate is how much of the prompts the server had, from 0 to 1; with the first one, of which it had nothing.
func (t Tally) HitRate() (without, with float64) {
	return float64(t.Cached) / float64(max(1, t.Tokens)), float64(t.Cached) / float64(max(1, t.Tokens+t.First))
}

// Add adds up.
func (t *Tally) Add(o Tally) {
	t.Turns, t.Tokens, t.Cached, t.Again, t.First = t.Turns+o.Turns, t.Tokens+o.Tokens, t.Cached+o.Cached, t.Again+o.Again, t.First+o.First
	t.Held, t.Lost, t.Digests = t.Held+o.Held, t.Lost+o.Lost, t.Digests+o.Digests
}

// Play plays a workload. The server begins with nothing of it.
func Play(size Size, arm Arm, event Event, server Server) (Tally, error) {
	p := player{world: newWorld(size), arm: arm, server: server, digests: map[string]bool{}}
	for range size.Sessions {
		p.said = ""
		for turn := 1; turn <= size.Turns; turn++ {
			p.world.happen(event, turn)
			if err := p.turn(turn); err != nil {
				return Tally{}, err
			}
			if event != SubAgent || turn != size.middle() {
				continue
			}
			if err := p.ask(sysprompt.Minimal, "", user("Read the notes and list what is open.")); err != nil {
				return Tally{}, err
			}
		}
	}
	p.tally.Digests = len(p.digests)
	return p.tally, nil
}

type player struct {
	world  *world
	arm    Arm
	server Server
	// said is the conversation so far.
	said    string
	stable  string // of the request before
	begun   bool
	digests map[string]bool
	tally   Tally
}

// turn asks for the answer of one turn. The answer is the same whatever the server says.
func (p *player) turn(turn int) error {
	next := user(fmt.Sprintf("%d-%d: %s", p.world.session, turn, strings.TrimSpace(prose(uint64(1000*p.world.session+turn), p.world.size.Turn*2/5))))
	if turn > 1 {
		next = prose(uint64(1000*p.world.session+turn+500), p.world.size.Turn*3/5) + "<end_of_turn>\n" + next
	}
	err := p.ask(sysprompt.Full, p.said, next)
	p.said += next
	return err
}

// user is what the user says, up to where the answer begins.
func user(text string) string {
	return "<start_of_turn>user\n" + text + "<end_of_turn>\n<start_of_turn>model\n"
}

// ask has a prompt read, of which next is new.
func (p *player) ask(mode sysprompt.Mode, said, next string) error {
	const head = "<start_of_turn>system\n"
	text, stable, err := p.arm.build(p.world, mode)
	if err != nil {
		return err
	}
	prompt := head + text + "<end_of_turn>\n" + said + next
	tokens, cached, err := p.server.Read(prompt)
	if err != nil {
		return err
	}
	if !p.begun {
		p.begun, p.tally.First = true, tokens
	} else {
		p.tally.Turns++
		p.tally.Tokens += tokens
		p.tally.Cached += cached
		p.tally.Again += max(0, tokens-cached-p.server.Count(next))
	}
	if stable > 0 {
		p.hold(mode, head+text[:stable], cached)
	}
	return nil
}

// hold notes whether the server still had the part above the boundary.
func (p *player) hold(mode sysprompt.Mode, stable string, cached int) {
	if mode == sysprompt.Full {
		p.digests[stable] = true
	}
	if stable != p.stable {
		p.stable = stable
		return
	}
	p.tally.Held++
	if cached < p.server.Count(stable)-2 {
		p.tally.Lost++
	}
}
