// Package client is what the commands have in common that talk to a running `tsumugi serve`: which flow a person means,
// errors as sentences, and texts that tell a terminal nothing.
package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Plain turns an error of a call to an address into a sentence that says what to do.
func Plain(err error, addr string) error {
	if err == nil {
		return nil
	}
	e, ok := apierr.FromStatus(err)
	switch {
	case ok && e.Code == codes.Unauthenticated:
		return fmt.Errorf("%s asks who you are: %s. A command takes a token from the variable TSUMUGI_TOKEN, or from a file: --token-file FILE", addr, e.Message)
	case ok:
		return errors.New(sentence(e))
	}
	rpc, is := status.FromError(err)
	switch {
	case !is:
		return err
	case rpc.Code() == codes.Unavailable:
		return fmt.Errorf("nobody answers at %s (%s): start `tsumugi serve`, or name its gRPC address with --addr", addr, grpcclient.Reason(err))
	case rpc.Code() == codes.Internal && strings.Contains(rpc.Message(), "error while marshaling") && strings.Contains(rpc.Message(), "UTF-8"):
		return errors.New("the arguments of the command must be UTF-8, and one is not; nothing was sent")
	default:
		return fmt.Errorf("%s answered: %s", addr, grpcclient.Reason(err))
	}
}

// sentence is the message of an error; of several wrong fields each is on a line of its own. Those of a session are named without `session.`: who uses a
// command does not know that the request has them in a message.
func sentence(e *apierr.Error) string {
	const inside = "session."
	if len(e.Violations) < 2 {
		if len(e.Violations) == 1 && strings.HasPrefix(e.Message, e.Violations[0].Field+": ") {
			return strings.TrimPrefix(e.Message, inside)
		}
		return e.Message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d fields of the request are wrong:", len(e.Violations))
	for _, v := range e.Violations {
		fmt.Fprintf(&b, "\n  %s: %s", strings.TrimPrefix(v.Field, inside), v.Description)
	}
	return b.String()
}

// Ask asks the flowstore behind an address, with a bearer token or none. An error is a sentence that says what to do.
func Ask(addr, token string, ask func(flowstorev1.FlowStoreServiceClient) error) error {
	return With(addr, token, func(conn grpc.ClientConnInterface) error { return ask(flowstorev1.NewFlowStoreServiceClient(conn)) })
}

// With asks the services behind an address, with a bearer token or none. An error is a sentence that says what to do.
func With(addr, token string, ask func(grpc.ClientConnInterface) error) error {
	conn, err := grpcclient.Dial(addr, grpcclient.Options{Token: token})
	if err != nil {
		return err
	}
	defer conn.Close()
	return Plain(ask(conn), addr)
}

// Say writes to a screen what is Visible of a text.
func Say(w io.Writer, format string, args ...any) {
	fmt.Fprint(w, Visible(fmt.Sprintf(format, args...)))
}

// OneLine is a text on one line: what is blank in it, line ends too, is one space.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Cut keeps so many characters (code points) of a text, with a mark where there were more.
func Cut(text string, most int) string {
	if all := []rune(text); len(all) > most {
		return string(all[:most]) + "…"
	}
	return text
}

// Visible keeps a text from telling the terminal anything, and from looking like another one: a control character is shown as its picture, and what is
// not seen or changes how others are is written as `\u{202E}`, but for what ordinary writing needs. An approval's diff is stricter, and of the same rule.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || !passage.Invisible(r) || passage.Joins(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case unicode.IsControl(r):
			b.WriteRune('␦')
		default:
			fmt.Fprintf(&b, `\u{%04X}`, r)
		}
	}
	return b.String()
}
