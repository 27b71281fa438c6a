// Package authtest makes files of tokens for tests.
package authtest

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// User is a person with the role user in a namespace.
func User(name, ns string) token.Token {
	return token.Token{Name: name, Namespace: ns, Roles: []token.Role{token.User}}
}

// Service is a program of ours.
func Service(name string) token.Token {
	return token.Token{Name: name, Roles: []token.Role{token.Service}}
}

// File makes a file of tokens, and gives what their bearers show, in that order.
func File(t testing.TB, tokens ...token.Token) (path string, shown []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens.yaml")
	for _, one := range tokens {
		shown = append(shown, Add(t, path, one))
	}
	return path, shown
}

// Add adds a token to a file.
func Add(t testing.TB, path string, one token.Token) (shown string) {
	t.Helper()
	one.Created = time.Now()
	_, shown, err := token.Add(path, one)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// Revoke takes a token out of a file.
func Revoke(t testing.TB, path, shown string) {
	t.Helper()
	if _, err := token.Revoke(path, token.ID(shown)); err != nil {
		t.Fatal(err)
	}
}

// Approver is a server without a file of tokens, and what makes its callers approvers.
func Approver(t testing.TB) (a *auth.Authenticator, shown string) {
	t.Helper()
	folder := t.TempDir()
	a, err := auth.Open(auth.Config{}, folder, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if shown, err = token.ReadSecret(filepath.Join(folder, token.SecretName)); err != nil {
		t.Fatal(err)
	}
	return a, shown
}

// Open follows a file of tokens.
func Open(t testing.TB, path string) *auth.Authenticator {
	t.Helper()
	a, err := auth.Open(auth.Config{Tokens: path}, "", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return a
}
