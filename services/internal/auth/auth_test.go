package auth

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// rig is an Authenticator with a token of a person, and its log.
func rig(t *testing.T) (a *Authenticator, path, shown string, logs *observer.ObservedLogs) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens.yaml")
	_, shown, err := token.Add(path, token.Token{Name: "千夏", Namespace: "team-a", Roles: []token.Role{token.User, token.Approver}, Created: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.DebugLevel)
	if a, err = Open(Config{Tokens: path}, "", zap.New(core)); err != nil {
		t.Fatal(err)
	}
	return a, path, shown, logs
}

// Exactly one value, the scheme in any case, nothing around the token. Whatever else is sent is refused with a sentence
// that says what would be right, and neither that nor the log holds what was sent.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	a, _, shown, logs := rig(t)
	secret := shown[strings.LastIndex(shown, "_")+1:]
	for _, value := range []string{"Bearer " + shown, "bearer " + shown, "BEARER  " + shown} {
		c, still, err := a.Authenticate(Request{Values: []string{value}, Peer: "10.0.0.1:1"})
		if err != nil || c.Name != "千夏" || c.Namespace != "team-a" || !c.Has(token.Approver) || c.Has(token.Admin) || c.Token != token.ID(shown) || still() != nil {
			t.Errorf("%.8s: %+v, %v", value, c, err)
		}
	}
	for i, tt := range []struct {
		values []string
		want   string
	}{
		{nil, "has no token"},
		{[]string{""}, "has no token"},
		{[]string{"  "}, "has no token"},
		{[]string{"Bearer " + shown, "Bearer " + shown}, "2 authorization values"},
		{[]string{"", "Bearer " + shown}, "2 authorization values"},
		{[]string{"Bearer " + shown + ", Bearer " + shown}, "does not read"},
		{[]string{"Bearer x, Bearer " + shown}, "does not read"},
		{[]string{"Bearer " + strings.Repeat("x", 300)}, "longer than 256"},
		{[]string{"Bearer"}, "does not read"},
		{[]string{"Bearer "}, "does not read"},
		{[]string{shown}, "must be `Bearer`"},
		{[]string{"Basic " + shown}, "must be `Bearer`"},
		{[]string{"Bearer\t" + shown}, "must be `Bearer`"},
		{[]string{"Bearer " + shown + " "}, "does not read"},
		{[]string{"Bearer " + shown[:len(shown)-1]}, "does not read"},
		{[]string{"Bearer " + strings.ToUpper(shown)}, "does not read"},
		{[]string{"Bearer " + strings.Replace(shown, token.ID(shown), "abcdef", 1)}, "not known here"},
		{[]string{"Bearer " + shown[:len(shown)-64] + strings.Repeat("0", 64)}, "not known here"},
	} {
		logs.TakeAll()
		_, _, err := a.Authenticate(Request{Values: tt.values, Peer: fmt.Sprintf("10.0.1.%d:99", i), Method: "/s/m"})
		e, ok := err.(*apierr.Error) //nolint:errorlint // that very type
		if !ok || e.Code != codes.Unauthenticated || e.Reason != apierr.ReasonUnauthenticated || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%.40q: %v", tt.values, err)
		}
		lines := fmt.Sprint(logs.All())
		if strings.Contains(e.Message+lines, secret[:16]) {
			t.Errorf("%.40q: the secret is told", tt.values)
		}
		if told := logs.Len(); told > 1 || (told == 0) != strings.Contains(tt.want, "no token") {
			t.Errorf("%.40q: %d lines", tt.values, told)
		}
	}
}

// A peer that fails too often is told to wait and leaves the log alone; others, and whoever has a right token, notice nothing.
func TestFailuresAreLimited(t *testing.T) {
	t.Parallel()
	a, _, shown, logs := rig(t)
	now := time.Now()
	a.failures.now = func() time.Time { return now }
	fail := func(peer string) *apierr.Error {
		_, _, err := a.Authenticate(Request{Values: []string{"Bearer " + shown[:len(shown)-2] + "zz"}, Peer: peer})
		return err.(*apierr.Error) //nolint:errorlint,forcetypeassert // that very type
	}
	for i := range maxFailures {
		if e := fail(fmt.Sprintf("10.0.0.1:%d", i)); e.Code != codes.Unauthenticated {
			t.Fatalf("%d: %v", i, e)
		}
	}
	for range 3 {
		if e := fail("10.0.0.1:7"); e.Code != codes.ResourceExhausted || e.Reason != apierr.ReasonLimitExceeded || e.RetryAfter <= 0 || e.RetryAfter > failureWindow {
			t.Errorf("%+v", e)
		}
	}
	if n := logs.Len(); n != maxFailures {
		t.Errorf("%d lines", n)
	}
	if _, _, err := a.Authenticate(Request{Values: []string{"Bearer " + shown}, Peer: "10.0.0.1:7"}); err != nil {
		t.Errorf("a right token of that address: %v", err)
	}
	for range maxFailures + 5 { // no guess
		if _, _, err := a.Authenticate(Request{Peer: "10.0.0.3:1"}); err.(*apierr.Error).Code != codes.Unauthenticated { //nolint:errorlint,forcetypeassert // that very type
			t.Errorf("without a token: %v", err)
		}
	}
	if e := fail("10.0.0.2:1"); e.Code != codes.Unauthenticated {
		t.Errorf("another peer: %v", e)
	}
	now = now.Add(failureWindow)
	if e := fail("10.0.0.1:7"); e.Code != codes.Unauthenticated {
		t.Errorf("a window later: %v", e)
	}
}

// Addresses that callers have plenty of do not fill the memory, and do not give more tries.
func TestPeersAreBounded(t *testing.T) {
	t.Parallel()
	f := newFailures()
	now := time.Now()
	f.now = func() time.Time { return now }
	last := 0
	for i := range maxPeers + 500 {
		last, _ = f.count(fmt.Sprint(i))
	}
	if len(f.peers) > maxPeers+1 || last != 500 {
		t.Errorf("%d peers, the last one counts %d", len(f.peers), last)
	}
	now = now.Add(failureWindow)
	if n, _ := f.count("new"); n != 1 || len(f.peers) != 1 {
		t.Errorf("a window later: %d, %d peers", n, len(f.peers))
	}
	for peer, want := range map[string]string{
		"10.0.0.1:80": "10.0.0.1", "[::1]:80": "::1", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[2001:db8:1:2:ffff::1%eth0]:80": "2001:db8:1:2::/64",
		"[::ffff:10.0.0.1]:80": "10.0.0.1", "bufconn": "bufconn", "@": "@", "": "",
	} {
		if got := host(peer); got != want {
			t.Errorf("%q is %q, want %q", peer, got, want)
		}
	}
}

// What was revoked ends what it began.
func TestStill(t *testing.T) {
	t.Parallel()
	a, path, shown, _ := rig(t)
	_, still, err := a.Authenticate(Request{Values: []string{"Bearer " + shown}})
	if err != nil || still() != nil {
		t.Fatal(err)
	}
	if _, err := token.Revoke(path, token.ID(shown)); err != nil {
		t.Fatal(err)
	}
	if e := still(); e == nil || e.Code != codes.Unauthenticated || strings.Contains(e.Message, shown[20:]) {
		t.Errorf("%v", e)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	a, err := Open(Config{}, "", zap.NewNop())
	if a != nil || err != nil || a.Ready(t.Context()) != nil {
		t.Errorf("%v, %v", a, err)
	}
	var p config.Problems
	Config{Tokens: "/nope.yaml"}.Check(&p)
	if p.Err() == nil {
		t.Error("a file that is not there is accepted")
	}
	if _, err := Open(Config{Tokens: "/nope.yaml"}, t.TempDir(), zap.NewNop()); err == nil {
		t.Error("a file that is not there is opened")
	}
}

// Without a file of tokens everybody is a user, and who shows the secret of the folder an approver, too; a wrong one is refused as any wrong token, and counted.
// Neither log nor notice holds the secret, and the notice comes once.
func TestApproverSecret(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	core, logs := observer.New(zap.DebugLevel)
	a, err := Open(Config{}, folder, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := token.ReadSecret(filepath.Join(folder, token.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	if a.Asks() || !strings.Contains(a.Notice(), filepath.Join(folder, token.SecretName)) || strings.Contains(a.Notice(), shown[30:50]) || len(a.Ready(t.Context())) != 1 {
		t.Errorf("asks %v, notice %q, %v", a.Asks(), a.Notice(), a.Ready(t.Context()))
	}
	for _, values := range [][]string{nil, {""}, {" "}} {
		c, still, err := a.Authenticate(Request{Values: values})
		if err != nil || still != nil || c.Name != LocalName || c.Namespace != namespace.Default || !c.Has(token.User) || c.Has(token.Approver) || c.Token != "" {
			t.Errorf("%q: %+v, %v", values, c, err)
		}
	}
	c, still, err := a.Authenticate(Request{Values: []string{"Bearer " + shown}})
	if err != nil || still() != nil || c.Name != LocalName || c.Namespace != namespace.Default || !c.Has(token.User) || !c.Has(token.Approver) || c.Has(token.Admin) || c.Token != token.ID(shown) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, values := range [][]string{
		{"Bearer " + shown[:len(shown)-64] + strings.Repeat("0", 64)}, {"Bearer x"}, {"Bearer "}, {"Basic " + shown}, {shown},
		{"Bearer " + shown, "Bearer " + shown}, {"", "Bearer " + shown},
	} {
		c, _, err := a.Authenticate(Request{Values: values})
		e, ok := err.(*apierr.Error) //nolint:errorlint // that very type
		if !ok || e.Code != codes.Unauthenticated || e.Reason != apierr.ReasonUnauthenticated || c.Name != "" || strings.Contains(e.Message, shown[30:50]) {
			t.Errorf("%q: %+v, %v", values, c, err)
		}
	}
	for range maxFailures {
		_, _, err = a.Authenticate(Request{Values: []string{"Bearer x"}})
	}
	if e, ok := err.(*apierr.Error); !ok || e.Code != codes.ResourceExhausted { //nolint:errorlint // that very type
		t.Errorf("guesses are not limited: %v", err)
	}
	if _, _, err := a.Authenticate(Request{}); err != nil {
		t.Errorf("others wait for them: %v", err)
	}
	if strings.Contains(fmt.Sprint(logs.All()), shown[30:50]) {
		t.Error("the log holds the secret")
	}
	again, err := Open(Config{}, folder, zap.NewNop())
	if err != nil || again.Notice() != "" {
		t.Errorf("told twice: %q, %v", again.Notice(), err)
	}
}

// With a file of tokens no secret is made, and one that is there opens nothing. Where none can be made nobody decides, and all else goes on.
func TestApproverSecretIsNotEverywhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, path, _, _ := rig(t)
	withTokens, err := Open(Config{Tokens: path}, folder, zap.NewNop())
	if err != nil || !withTokens.Asks() || withTokens.Notice() != "" {
		t.Errorf("%v, notice %q", err, withTokens.Notice())
	}
	if _, err := token.ReadSecret(filepath.Join(folder, token.SecretName)); err == nil {
		t.Error("it was made beside a file of tokens")
	}
	if _, err := Open(Config{}, folder, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	shown, err := token.ReadSecret(filepath.Join(folder, token.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := withTokens.Authenticate(Request{Values: []string{"Bearer " + shown}}); err == nil {
		t.Error("it is a token of the file")
	}
	core, logs := observer.New(zap.ErrorLevel)
	none, err := Open(Config{}, filepath.Join(path, "below-a-file"), zap.New(core))
	if err != nil || logs.Len() != 1 || none.Notice() != "" || none.Ready(t.Context())[0].OK {
		t.Fatalf("%v, %d lines", err, logs.Len())
	}
	if c, _, err := none.Authenticate(Request{}); err != nil || c.Has(token.Approver) || c.Name != LocalName {
		t.Errorf("%+v, %v", c, err)
	}
	if _, _, err := none.Authenticate(Request{Values: []string{"Bearer " + shown}}); err == nil {
		t.Error("a secret of another folder is let in")
	}
}
