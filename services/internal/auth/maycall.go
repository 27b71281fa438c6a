package auth

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// opening lets callers make a call that they could not make else. Every call that has none is for users, admins and programs of ours, and for
// no session.
type opening struct {
	// session lets in whoever is bound to a session of the agent, with a role that may make the call. The handler has to see that it is
	// about that session: Caller.Reaches. Of an approval the session decides nothing, whatever roles its token has (cases/agent.md c2):
	// it is let in so that the agent's gate, which refuses it, records the try.
	session bool
	// approver lets in who is an approver and nothing else. It does not keep users out: that a user may not decide is found out by the agent's gate,
	// which records the try.
	approver bool
}

const agentService = "/tsumugi.agent.v1.AgentService/"

// openings are the calls that others may make than users (field/review-agent.md S10, S13; cases/agent.md c2).
var openings = map[string]opening{
	agentService + "GetSession":       {session: true},
	agentService + "SendMessage":      {session: true},
	agentService + "WatchSession":     {session: true},
	agentService + "SubmitToolResult": {session: true},
	agentService + "ListApprovals":    {approver: true},
	agentService + "GetApproval":      {approver: true},
	agentService + "DecideApproval":   {approver: true, session: true},
	agentService + "ExtendApproval":   {approver: true, session: true},
}

// MayCall says whether the caller may make a call, `/package.Service/Method`, at all: PERMISSION_DENIED with the reason if not. It is for
// who shows a token, not for whom a program of ours calls: that was asked where the request came in.
//
// A binding to a session takes calls away and gives none: what is left are those of its own session for which its roles do.
func (c Caller) MayCall(method string) error {
	o := openings[method]
	if c.Session != "" && !o.session {
		return apierr.New(codes.PermissionDenied, apierr.ReasonPermissionDenied,
			"the token is bound to a session of an agent, and reaches calls about that session alone; this is none of them", "session", c.Session)
	}
	roles := []token.Role{token.User, token.Admin}
	if o.approver {
		roles = append(roles, token.Approver)
	}
	for _, r := range append(roles, token.Service) {
		if c.Has(r) {
			return nil
		}
	}
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	last := len(words) - 1
	return apierr.New(codes.PermissionDenied, apierr.ReasonPermissionDenied,
		fmt.Sprintf("this call is for callers with the role %s or %s, and the token has none of them", strings.Join(words[:last], ", "), words[last]),
		"roles", strings.Join(words, ","))
}

// Reaches says whether the caller may know of a session, `sessions/{uuid}`, of its namespace: whoever is bound to one knows of no other.
func (c Caller) Reaches(session string) bool { return c.Session == "" || c.Session == session }
