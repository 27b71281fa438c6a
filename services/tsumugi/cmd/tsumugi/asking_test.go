package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// A command takes its token from a file or the variable, and says which of them holds none, without what is in it.
func TestReadToken(t *testing.T) {
	t.Parallel()
	var one, two token.Token
	inFile, inVariable := token.Mint(&one), token.Mint(&two)
	file := filepath.Join(t.TempDir(), token.SecretName)
	if err := os.WriteFile(file, []byte(inFile+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, variable, want, wrong string }{
		{"", "", "", ""},
		{file, inVariable, inFile, ""},
		{"", inVariable + "\n", inVariable, ""},
		{"", "secret-of-another-kind", "", "the variable TSUMUGI_TOKEN holds no token"},
		{file + ".no", inVariable, "", "no such file"},
	} {
		got, err := readToken(tt.file, tt.variable)
		if got != tt.want || (err != nil) != (tt.wrong != "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "secret-of")) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	for _, tt := range []struct{ addr, folder, want, wrong string }{
		{"127.0.0.1:7450", filepath.Dir(file), inFile, ""},
		{"localhost:7450", filepath.Dir(file), inFile, ""},
		{"10.0.0.1:7450", filepath.Dir(file), "", "for a server on this machine"},
		{"example.org:7450", filepath.Dir(file), "", "for a server on this machine"},
		{"127.0.0.1:7450", t.TempDir(), "", "no such file"},
	} {
		got, err := approverSecret(tt.addr, tt.folder)
		if got != tt.want || (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	root := tokenCommand()
	for _, name := range []string{"add", "list", "revoke"} {
		if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name || c.Flag("tokens") == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command that is told to somebody shows the token as theirs did, and fits a shell.
func TestShownBy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"--approver"}, []string{"--approver"}},
		{[]string{"--token-file", "a b"}, []string{"--token-file", "'a b'"}},
		{[]string{"--token-file", "it's"}, []string{"--token-file", `'it'\''s'`}},
	} {
		c, addr, shown := &cobra.Command{}, "", ""
		askingFlags(c, &addr, &shown)
		if err := c.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		if by := shownBy(c); !slices.Equal(by, tt.want) {
			t.Errorf("%q: %q", tt.args, by)
		}
	}
}
