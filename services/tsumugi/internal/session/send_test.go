package session

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// What is not UTF-8 is the fault of who types it, and not of the server.
func TestInputMustBeUTF8(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	for want, got := range map[string]error{
		"the standard input must be UTF-8; byte 4 is not":                              Send(t.Context(), d.on(name, "港a\xff"), Message{Text: "-"}),
		"the standard input must be UTF-8; byte 0 is not":                              Result(t.Context(), d.on(name, "\xff"), "c", false),
		"the arguments of the command must be UTF-8, and one is not; nothing was sent": Send(t.Context(), d.on(name, ""), Message{Text: "\xff"}),
	} {
		if got == nil || got.Error() != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	}
}

// A question of the model is told with the command that answers it.
func TestQuestion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.Session("notes")
	shown := d.must(Send(t.Context(), d.on(name, ""), Message{Text: "please ask"}))
	q := d.Rests(name).GetQuestion().GetId()
	d.has(shown, "the model asks, and the next message answers: Which file?\n", "  answer: tsumugi session send "+client.ID(name)+" 'ANSWER' --answers "+q+" --addr "+d.Addr+"\n")
}
