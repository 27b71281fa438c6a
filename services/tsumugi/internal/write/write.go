// Package write is `tsumugi write`: a writer at a terminal continues a flow with a model, and chooses after each answer
// what becomes of it.
//
// It is a client like any other, over gRPC. Every answer is a node before it is shown as whole, so that nothing hangs on
// this program: whatever is not kept stays in the flow as a branch.
package write

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// Options of a session.
type Options struct {
	// Addr is the address of gRPC of a running `tsumugi serve`.
	Addr string
	// Token is the bearer token that says who asks; empty for none.
	Token string
	// Flow is the flow to continue, `flows/{uuid}` or the UUID alone. With File it is what the new flow is called.
	Flow string
	// File is a text in UTF-8, at most 4 MiB, with which a new flow begins; empty: none.
	File string
	// Variants are how many answers are made side by side each time, a number from 2, or `all` in any case: one for each
	// combination of options; empty: one answer.
	Variants string
	// Repeat are how many answers are made one behind the other each time; 0: one.
	Repeat int
	// Tokens are the most of one answer; 0: the agent's default.
	Tokens int
	// Note is an author's note instead of the flow's; Backend the name of a backend instead of the default one.
	Note, Backend string
	// Slack is how much of the window a cut may leave unused so that it stays where it is, in percent; Preset a preset of
	// promptbuilder, empty for none.
	Slack  int
	Preset string
	// Neutralize makes text of what looks like a control token or a fence.
	Neutralize bool
	// Yes asks nothing: one round, of which the first whole answer, or the last of Repeat, is kept.
	Yes bool
	// Editor is the command that edits a file; empty: there is none.
	Editor string
	// In is where the writer types, Out where everything is shown.
	In  io.Reader
	Out io.Writer
	// Err is where is told what is waited for; nil: Out.
	Err io.Writer
	// Interrupts are Ctrl-C: during an answer it ends the answer, at a question the session. nil: never.
	Interrupts <-chan os.Signal
	// after is time.After; tests have another.
	after func(time.Duration) <-chan time.Time
}

// session is a writer at a place in a flow.
type session struct {
	Options
	flows  flowstorev1.FlowStoreServiceClient
	agents agentv1.AgentServiceClient
	lines  *bufio.Reader
	usual  shape
	total  totals
	// reached: somebody answered at the address.
	reached bool

	flow string
	// pickSeed is that of the draws in `{A|B}`.
	pickSeed uint32
	// state names the line at which the last prompt was cut: the next one is cut there too, as long as that has room.
	state string
	// at is the node that is continued, empty in a flow without nodes; tail the last line of its text, with what ends it.
	at, tail string
	// drafts are files of answers that the writer has changed and that could not be stored.
	drafts map[*answer]string
}

// shape is how many answers are asked for.
type shape struct {
	variants, repeat int
	every            bool
}

// three are the three ways.
var three = shape{variants: 3}

// Run is a session from its beginning to its end. An error is a sentence that says what to do.
func Run(ctx context.Context, o Options) error {
	ctx = origin.With(ctx, "tsumugi write")
	conn, err := grpcclient.Dial(o.Addr, grpcclient.Options{Token: o.Token})
	if err != nil {
		return err
	}
	defer conn.Close()
	s, wrong := newSession(o, conn)
	if err := s.open(ctx, wrong); err != nil {
		return err
	}
	err = s.write(ctx)
	s.say("%v", &s.total)
	s.bye()
	return s.plain(err)
}

// newSession makes a session that is at no place yet. The error is what is seen to be wrong with the options here; the
// services see more.
func newSession(o Options, conn *grpc.ClientConn) (*session, error) {
	usual, wrong := o.shape()
	wrong = errors.Join(wrong, o.unreadable())
	if o.after == nil {
		o.after = time.After
	}
	if o.Err == nil {
		o.Err = o.Out
	}
	return &session{
		drafts:  map[*answer]string{},
		Options: o, usual: usual, lines: bufio.NewReader(o.In), flows: flowstorev1.NewFlowStoreServiceClient(conn),
		agents: agentv1.NewAgentServiceClient(conn),
	}, wrong
}

// shape reads how many answers are made each time, and finds what cannot be sent. The rest is the services' to judge.
func (o Options) shape() (shape, error) {
	var wrong []error
	if o.Flow == "" && o.File == "" {
		wrong = append(wrong, errors.New("name the flow to continue, or begin one from a text with --file novel.txt"))
	}
	if o.Variants != "" && o.Repeat != 0 {
		wrong = append(wrong, errors.New("--variants makes answers side by side and --repeat one behind the other: only one of them"))
	}
	if o.File != "" && client.IsFlow(o.Flow) {
		wrong = append(wrong, fmt.Errorf("NAME is what the flow of --file is to be called, and %q is what a flow is known by: leave out --file to continue it, or give another NAME", o.Flow))
	}
	s := shape{repeat: o.Repeat, every: strings.EqualFold(o.Variants, "all")}
	if o.Variants != "" && !s.every {
		var err error
		if s.variants, err = strconv.Atoi(o.Variants); err != nil || s.variants < 2 {
			s.variants = 0
			wrong = append(wrong, fmt.Errorf("--variants must be a number from 2, or `all`, is %q", o.Variants))
		}
	}
	return s, errors.Join(wrong...)
}

// unreadable finds the texts that are not UTF-8, and takes out what is not: a request with it could not be sent to find
// what else is wrong.
func (o *Options) unreadable() error {
	var wrong []error
	for _, t := range []struct {
		name string
		text *string
	}{{"NAME or FLOW", &o.Flow}, {"--note", &o.Note}, {"--backend", &o.Backend}, {"--preset", &o.Preset}} {
		if !utf8.ValidString(*t.text) {
			wrong = append(wrong, fmt.Errorf("%s must be UTF-8, is %.80q", t.name, *t.text))
			*t.text = strings.ToValidUTF8(*t.text, "")
		}
	}
	return errors.Join(wrong...)
}

// write makes answers and asks what becomes of them, until the writer has enough.
func (s *session) write(ctx context.Context) error {
	for r := s.plan(s.usual); r != nil; {
		if err := s.round(ctx, r); err != nil {
			s.total.round(r)
			return err
		}
		if s.Yes {
			s.total.round(r)
			return s.keepUnasked(ctx, r)
		}
		next := s.ask(ctx, r)
		if next != r {
			s.total.round(r)
		}
		r = next
	}
	return nil
}

// keepUnasked keeps what --yes means. What failed is the error all the same, and so is that there is nothing to keep.
func (s *session) keepUnasked(ctx context.Context, r *round) error {
	a := r.usual()
	if a == nil {
		return cmp.Or(r.err, errNothing)
	}
	if err := s.keep(ctx, r, a); err != nil {
		return err
	}
	return r.err
}

// errNothing is for a round without a question in which the model wrote nothing.
var errNothing = errors.New("何も書かれませんでした nothing was written: no answer is whole and has a text; the story is where it was")

// keep makes an answer the place from which the story goes on.
func (s *session) keep(ctx context.Context, r *round, a *answer) error {
	err := s.patiently(ctx, func() error {
		_, err := s.flows.SetCurrentNode(ctx, &flowstorev1.SetCurrentNodeRequest{Flow: s.flow, Node: a.node})
		return err
	})
	if err != nil {
		return err
	}
	s.stand(a.node, r.before(a)+a.text)
	s.say("残しました kept: %s", a.node)
	return nil
}

// stand moves to a node, with the text between the last place and the next.
func (s *session) stand(node, text string) { s.at, s.tail = node, lastLine(s.tail+text) }

// bye says where the story stands, how to come back, and whether anything that was shown may be gone.
func (s *session) bye() {
	if s.at != "" {
		s.say("ここまで the story stands at: %s", s.at)
	}
	for _, path := range s.drafts {
		s.say("保存していない文 a text of yours that is not stored: %s", path)
	}
	if n := s.total.broke; n > 0 {
		s.say("途中で切れて保存を確かめられない答え answers that broke off and are not known to be stored: %d; ほかは保存済み the rest is stored", n)
	} else if len(s.drafts) == 0 {
		s.say("すべて保存済みです everything is stored")
	}
	s.comeBack()
}

// comeBack says how.
func (s *session) comeBack() {
	command := "tsumugi write " + s.flow
	if s.Addr != client.DefaultAddr {
		command += " --addr " + s.Addr
	}
	s.say("続きは come back with: %s", command)
}

// say is one line that is not of the story.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.Out, "── %s\n", client.Visible(fmt.Sprintf(format, args...)))
}
