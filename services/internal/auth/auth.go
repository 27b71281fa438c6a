package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// Config says who may call.
type Config struct {
	// Tokens is the file of tokens. Empty: everybody who reaches the address, which must be a loopback one.
	Tokens string `yaml:"tokens" help:"file of tokens (tsumugi token add); empty: no authentication, and loopback addresses only"`
}

// Check tells what is wrong in the file.
func (c Config) Check(p *config.Problems) {
	if c.Tokens == "" {
		return
	}
	_, err := token.Read(c.Tokens)
	p.AddFile("tokens", c.Tokens, err)
}

// On says whether callers are asked who they are.
func (c Config) On() bool { return c.Tokens != "" }

// maxValueBytes is the longest authorization value that is looked at.
const maxValueBytes = 256

// Authenticator finds out who calls. A nil one stands for no authentication.
type Authenticator struct {
	tokens   tokens
	log      *zap.Logger
	failures *failures
	// open says that who shows no token is Local; notice is what Notice says.
	open   bool
	notice string
}

// tokens are those that are known: a file of them, or the approver secret alone.
type tokens interface {
	Verify(shown string) (token.Token, error)
	Still(t token.Token) bool
	Ready(ctx context.Context) obs.Check
}

// Open reads the file of tokens that the settings name. Where they name none, folder is where the secret of approvers stands, or is made
// (openApprover); where that is empty, too, it is nil.
func Open(c Config, folder string, log *zap.Logger) (*Authenticator, error) {
	switch {
	case c.On():
		file, err := token.Open(c.Tokens, log)
		if err != nil {
			return nil, err
		}
		return &Authenticator{tokens: file, log: log, failures: newFailures()}, nil
	case folder != "":
		return openApprover(folder, log), nil
	}
	return nil, nil //nolint:nilnil // no authentication, as the type says
}

// openApprover is authentication without a file of tokens, on loopback: everybody is Local, and who shows the secret of the folder is Local and an
// approver. A program that an agent starts reaches the port as a person does, and must not decide for one (field/review-agent.md S11). Without
// the secret nobody decides; that is told, and no reason not to start.
func openApprover(folder string, log *zap.Logger) *Authenticator {
	who := Local()
	secret, made, err := token.OpenSecret(folder, token.Token{Name: who.Name, Namespace: who.Namespace, Roles: append(who.Roles, token.Approver)})
	a := &Authenticator{tokens: secret, log: log, failures: newFailures(), open: true}
	if err != nil {
		log.Error("there is no approver secret, so nobody can decide what an agent may do", zap.String("file", secret.Path()), zap.Error(err))
	}
	if made {
		a.notice = fmt.Sprintf("Who decides what an agent may do shows the secret in %s, which was made now for you alone (docs/security.md).", secret.Path())
	}
	return a
}

// Asks says whether nobody is served without a token.
func (a *Authenticator) Asks() bool { return a != nil && !a.open }

// Notice is a sentence that a person has to be told once; empty where there is none.
func (a *Authenticator) Notice() string {
	if a == nil {
		return ""
	}
	return a.notice
}

// Ready tells how the file of tokens is; nothing without authentication.
func (a *Authenticator) Ready(ctx context.Context) []obs.Check {
	if a == nil {
		return nil
	}
	return []obs.Check{a.tokens.Ready(ctx)}
}

// Request is what is known of a request before it is known who makes it.
type Request struct {
	// Values are those of the header Authorization.
	Values []string
	// Peer is the address at the other end, with or without a port; Method what is called. They are for the log.
	Peer, Method string
}

// Still says why a caller who was known may not go on; nil: there is no reason. It may be called at once. It is nil itself for one who needed no token.
type Still func() *apierr.Error

// Authenticate says who calls, and gives a function that says whether that holds still. The error is an *apierr.Error with a sentence that says
// what is missing, and never holds what was sent: UNAUTHENTICATED, or LIMIT_EXCEEDED for a peer that failed too often. A token that
// is right passes whatever else its peer did: 256 bits are not guessed, and many people may be behind one address. The limit
// spares the log.
func (a *Authenticator) Authenticate(r Request) (Caller, Still, error) {
	shown, err := bearer(r.Values)
	if a.open && errors.Is(err, errMissing) {
		return Local(), nil, nil
	}
	if err != nil {
		return Caller{}, nil, a.failed(r, shown, err)
	}
	t, err := a.tokens.Verify(shown)
	if err != nil {
		return Caller{}, nil, a.failed(r, shown, fmt.Errorf("the token is refused: %w", err))
	}
	still := func() *apierr.Error {
		if a.tokens.Still(t) {
			return nil
		}
		return refused(errors.New("the token held when the call began, and was revoked or changed since, or its time is over"))
	}
	return of(t), still, nil
}

// errMissing is no guess: a program that was told of no token. It is not counted, and the line of its call is its log.
var errMissing = errors.New("the request has no token: send `authorization: Bearer tsumugi_...`; whoever runs the server makes one with `tsumugi token add`")

// bearer takes the token out of the values of the header.
func bearer(values []string) (string, error) {
	if len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "" {
		return "", errMissing
	}
	if len(values) > 1 {
		return "", fmt.Errorf("the request has %d authorization values; it must have one", len(values))
	}
	if len(values[0]) > maxValueBytes {
		return "", fmt.Errorf("the authorization value is longer than %d bytes, and no token is", maxValueBytes)
	}
	scheme, shown, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") { // RFC 9110, 11.1: in any case
		return "", errors.New("the authorization value must be `Bearer`, a space and a token")
	}
	return strings.TrimLeft(shown, " "), nil
}

func refused(err error) *apierr.Error {
	return apierr.New(codes.Unauthenticated, apierr.ReasonUnauthenticated, err.Error())
}

// failed counts a failure, and tells it in the log as long as its peer has not had too many.
func (a *Authenticator) failed(r Request, shown string, err error) error {
	if errors.Is(err, errMissing) {
		return refused(err)
	}
	peer := host(r.Peer)
	n, wait := a.failures.count(peer)
	if n <= maxFailures {
		a.log.Warn("a caller was refused", zap.String("peer", peer), zap.String("method", head(r.Method)), zap.String("token", token.ID(shown)),
			zap.String("error", err.Error()), zap.Bool("last_told", n == maxFailures))
		return refused(err)
	}
	e := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded,
		fmt.Sprintf("%d requests from this address failed to say who makes them; one with a right token passes, others wait", maxFailures))
	e.RetryAfter = wait
	return e
}

// maxMethod bounds a method in the log, in bytes.
const maxMethod = 128

func head(method string) string { return strings.ToValidUTF8(method[:min(len(method), maxMethod)], "") }
