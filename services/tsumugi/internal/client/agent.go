package client

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// DefaultAddr is where `tsumugi serve` listens where nobody says otherwise.
const DefaultAddr = "127.0.0.1:7450"

const (
	// looked is how many sessions or approvals are looked through for the end of an id: the newest.
	looked = 1000
	// minEnd is the shortest end of an id, in characters.
	minEnd = 4
)

// AskAgent asks the agent behind an address, with a bearer token or none. An error is a sentence that says what to do.
func AskAgent(addr, token string, ask func(agentv1.AgentServiceClient) error) error {
	return With(addr, token, func(conn grpc.ClientConnInterface) error { return ask(agentv1.NewAgentServiceClient(conn)) })
}

// Session gives the name, `sessions/{uuid}`, of the session that a person means: by that name, by its UUID, or by how the UUID ends, 4 characters
// or more, where one alone of the newest 1,000 ends so. *UnknownIDError; otherwise the error is that of the call.
func Session(ctx context.Context, agent agentv1.AgentServiceClient, text string) (string, error) {
	return resource("sessions/", text, func(size int32, token string) (names []string, next string, err error) {
		page, err := agent.ListSessions(ctx, &agentv1.ListSessionsRequest{PageSize: size, PageToken: token})
		for _, s := range page.GetSessions() {
			names = append(names, s.GetName())
		}
		return append(names, broken(page.GetBroken())...), page.GetNextPageToken(), err
	})
}

// Approval gives the name, `approvals/{uuid}`, of the approval that a person means, as Session does.
func Approval(ctx context.Context, agent agentv1.AgentServiceClient, text string) (string, error) {
	return resource("approvals/", text, func(size int32, token string) (names []string, next string, err error) {
		page, err := agent.ListApprovals(ctx, &agentv1.ListApprovalsRequest{PageSize: size, PageToken: token, AllStates: true})
		for _, a := range page.GetApprovals() {
			names = append(names, a.GetName())
		}
		return append(names, broken(page.GetBroken())...), page.GetNextPageToken(), err
	})
}

// OpenCall gives the id of the call that a person means among those that wait for a result of the caller's tool: by the whole id, or by how it ends,
// 4 characters or more, where one alone of them ends so. A UUID that is none of them is taken as it is: the service says what became of it.
func OpenCall(open []*agentv1.OpenToolCall, text string) (string, error) {
	id := strings.ToLower(text)
	if isUUID(id) {
		return id, nil
	}
	if len(id) < minEnd {
		return "", fmt.Errorf("%.80q names no call: it must be its UUID, or the last %d or more characters of it", text, minEnd)
	}
	var fit, all []string
	for _, c := range open {
		if all = append(all, c.GetCall()+"  "+c.GetTool()); strings.HasSuffix(c.GetCall(), id) {
			fit = append(fit, c.GetCall())
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		if all == nil {
			return "", fmt.Errorf("no call waits for a result, so none has an id that ends with %.80q", text)
		}
		return "", fmt.Errorf("no call that waits for a result has an id that ends with %.80q; there are:\n  %s", text, strings.Join(all, "\n  "))
	}
	return "", fmt.Errorf("the ids of %d calls that wait for a result end with %.80q; take one of them whole:\n  %s", len(fit), text, strings.Join(fit, "\n  "))
}

// broken are the names of records that cannot be read: whoever deletes one means it as any other.
func broken(all []*agentv1.BrokenRecord) (names []string) {
	for _, b := range all {
		names = append(names, b.GetName())
	}
	return names
}

// SayBroken tells of records in a list that cannot be read.
func SayBroken(w io.Writer, all []*agentv1.BrokenRecord) {
	for _, b := range all {
		Say(w, "! %s: %s\n", b.GetName(), OneLine(b.GetProblem()))
	}
}

// resource finds the name that a text means; list gives a page of the names of the collection, newest first.
func resource(collection, text string, list func(size int32, token string) (names []string, next string, err error)) (string, error) {
	id := strings.ToLower(strings.TrimPrefix(text, collection))
	if isUUID(id) {
		return collection + id, nil
	}
	unknown := &UnknownIDError{Text: text, Collection: collection}
	if foreign := strings.Trim(id, "0123456789abcdef-") != ""; foreign || len(id) < minEnd {
		unknown.Foreign = foreign && utf8.RuneCountInString(id) >= minEnd && !strings.Contains(id, "/")
		return "", unknown
	}
	for seen, token := 0, ""; seen < looked; {
		names, next, err := list(int32(looked-seen), token)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if strings.HasSuffix(name, id) {
				unknown.Fit = append(unknown.Fit, name)
			}
		}
		if seen, token = seen+len(names), next; token == "" {
			break
		}
	}
	if len(unknown.Fit) == 1 {
		return unknown.Fit[0], nil
	}
	unknown.Looked = true
	return "", unknown
}

// UnknownIDError says that a text means no session or approval, or several.
type UnknownIDError struct {
	// Text is what was given, Collection `sessions/` or `approvals/`.
	Text, Collection string
	// Foreign: it is long enough for the end of an id, and has characters that no id has.
	Foreign bool
	// Looked: the newest of the collection were looked through, and Fit are those whose ids end so.
	Looked bool
	Fit    []string
}

func (e *UnknownIDError) Error() string {
	one := strings.TrimSuffix(e.Collection, "s/")
	switch {
	case e.Foreign:
		return fmt.Sprintf("no id of %ss ends with %.80q: an id is a UUID, of 0-9, a-f and -", one, e.Text)
	case !e.Looked:
		return fmt.Sprintf("%.80q names no %s: it must be %s and a UUID, or the UUID, or the last %d or more characters of one", e.Text, one, e.Collection, minEnd)
	case len(e.Fit) == 0:
		return fmt.Sprintf("no id of the newest %d %ss ends with %.80q", looked, one, e.Text)
	}
	text := fmt.Sprintf("the ids of %d %ss end with %.80q; take one of them whole:", len(e.Fit), one, e.Text)
	for _, name := range e.Fit[:min(len(e.Fit), maxTold)] {
		text += "\n  " + name
	}
	if more := len(e.Fit) - maxTold; more > 0 {
		text += fmt.Sprintf("\n  … %d more", more)
	}
	return text
}

// Word is the word of an enum: its name without its prefix, which is the name of its type.
func Word(e fmt.Stringer, prefix string) string { return strings.TrimPrefix(e.String(), prefix) }

// Indent has every line of a text but the first begin so.
func Indent(text, by string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by)
}
