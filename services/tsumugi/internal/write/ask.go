package write

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
)

// help tells the keys.
const help = `   k  残して続ける  keep it and go on (番号 a number keeps that one)
   a  もう一度      again, from the same place; where something broke off: 欠けた分を作る make what is missing
   r  引き直す      draw the {A|B} anew, from the same place (a は同じ a keeps what was drawn)
   t  三つの案      three ways to go on
   e  直して続ける  edit it in EDITOR and go on (e2: 二つ目 the second)
   s  終わる        stop; 何も失われません nothing is lost
   ?  この説明      this help`

// ask asks what becomes of a round, and gives the next one, which is the same one where it goes on; nil at the end of the
// session.
func (s *session) ask(ctx context.Context, r *round) *round {
	again := "もう一度 again"
	if r.missing() {
		again = "欠けた分を作る make what is missing"
	}
	if r.drawn() {
		again += " / r 引き直す draw anew"
	}
	for {
		s.say("k 残す keep / a %s / t 三案 three ways / e 直す edit / s 終わる stop / ? :", again)
		line, ok := s.line(ctx)
		if !ok {
			return nil
		}
		key, number := split(line)
		switch {
		case key == "s":
			return nil
		case key == "a" && r.missing():
			return r
		case key == "a":
			return s.plan(r.shape)
		case key == "r" && r.drawn():
			s.pickSeed = rand.Uint32() //nolint:gosec // nothing is secret
			return s.plan(r.shape)
		case key == "t":
			return s.plan(three)
		case key == "k" || key == "e" || (key == "" && number > 0):
			a, why := r.choose(number)
			if why == nil && key == "e" {
				why = s.edit(ctx, r, a)
			} else if why == nil {
				why = s.keep(ctx, r, a)
			}
			if why == nil {
				return s.plan(s.usual)
			}
			s.say("%v", s.plain(why))
		default:
			s.say("\n%s", help)
		}
	}
}

// line reads what the writer types; false at the end of the input, or at Ctrl-C.
func (s *session) line(ctx context.Context) (string, bool) {
	type typed struct {
		text string
		err  error
	}
	read := make(chan typed, 1)
	go func() {
		text, err := s.lines.ReadString('\n')
		read <- typed{text, err}
	}()
	select {
	case got := <-read:
		return strings.TrimSpace(got.text), got.err == nil || (errors.Is(got.err, io.EOF) && got.text != "")
	case <-s.Interrupts:
		return "", false
	case <-ctx.Done():
		return "", false
	}
}

// split takes a key and a number apart: `e2`, `k`, `3`. What is neither is the key `?`.
func split(line string) (key string, number int) {
	key = strings.ToLower(strings.TrimRight(line, "0123456789"))
	if rest := line[len(key):]; rest != "" {
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return "?", 0
		}
		number = n
	}
	if key == "" && number == 0 {
		return "?", 0
	}
	return strings.TrimSpace(key), number
}

// choose gives the answer that a writer means.
func (r *round) choose(number int) (*answer, error) {
	var stored []*answer
	for _, a := range r.answers {
		if a.node != "" {
			stored = append(stored, a)
		}
	}
	switch {
	case len(stored) == 0:
		return nil, errors.New("まだ何もありません there is no answer yet: a もう一度 again, s 終わる stop")
	case number > len(r.answers) || (number > 0 && r.answers[number-1].node == ""):
		return nil, errors.New("その番号の答えはありません there is no answer with that number")
	case number > 0:
		return r.answers[number-1], nil
	case r.shape.repeat > 0:
		return stored[len(stored)-1], nil
	case len(r.answers) > 1:
		return nil, errors.New("どれですか which one? Type its number, 番号で答えてください")
	}
	return stored[0], nil
}
