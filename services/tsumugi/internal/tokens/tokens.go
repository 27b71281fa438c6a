// Package tokens is `tsumugi token`: what it writes to the file of tokens and tells at the terminal.
package tokens

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// Options are those of all commands.
type Options struct {
	// File is the file of tokens.
	File string
	// Out gets what was asked for, Err what is told beside it.
	Out, Err io.Writer
	Now      time.Time
}

var errNoFile = errors.New("name the file of tokens with --tokens FILE, the one that the setting auth.tokens names")

// New is a token that is to be made.
type New struct {
	Name, Namespace string
	// Roles are names of roles; none is user alone.
	Roles []string
	// Expires is how long it holds, such as 90d; empty: until it is revoked.
	Expires string
	// Session binds it to a session of the agent.
	Session string
}

// Add makes a token and writes it to Out, alone on a line.
func Add(o Options, n New) error {
	if o.File == "" {
		return errNoFile
	}
	t := token.Token{Name: n.Name, Namespace: n.Namespace, Session: n.Session, Created: o.Now}
	for _, r := range n.Roles {
		t.Roles = append(t.Roles, token.Role(r))
	}
	if len(t.Roles) == 0 {
		t.Roles = []token.Role{token.User}
	}
	if !t.Has(token.Service) {
		t.Namespace = cmp.Or(t.Namespace, namespace.Default)
	}
	if n.Expires != "" {
		long, err := duration(n.Expires)
		if err != nil {
			return err
		}
		t.Expires = o.Now.Add(long)
	}
	made, shown, err := token.Add(o.File, t)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Err, "%s has a token with the id %s. It is shown once:\n", made.Name, made.ID)
	_, err = fmt.Fprintln(o.Out, shown)
	return err
}

// units are those that a length of time may have beside Go's own.
var units = map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// longest is how long a token may hold at most, so that no length is more than a time can be.
const longest = 100 * 365 * 24 * time.Hour

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n := len(text) - 1; n > 0 && units[text[n:]] > 0 {
		var count int
		count, err = strconv.Atoi(text[:n])
		d = time.Duration(math.MaxInt64)
		if unit := units[text[n:]]; count < int(longest/unit) {
			d = time.Duration(count) * unit
		}
	}
	if err != nil || d <= 0 || d > longest {
		return 0, fmt.Errorf("expires: %q must be a length of time up to 100 years, such as 90d, 2w or 12h", text)
	}
	return d, nil
}

// List writes a table of the tokens, in the order in which they were made.
func List(o Options) error {
	if o.File == "" {
		return errNoFile
	}
	all, err := token.Read(o.File)
	if err != nil {
		return fmt.Errorf("the file of tokens %s: %w", o.File, err)
	}
	w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAMESPACE\tROLES\tCREATED\tEXPIRES\tSESSION\tNAME")
	for _, t := range all {
		roles := make([]string, len(t.Roles))
		for i, r := range t.Roles {
			roles[i] = string(r)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, cmp.Or(t.Namespace, "-"), strings.Join(roles, ","), day(t.Created), end(t, o.Now),
			cmp.Or(t.Session, "-"), t.Name)
	}
	return w.Flush()
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

func end(t token.Token, now time.Time) string {
	switch {
	case t.Expires.IsZero():
		return "never"
	case !now.Before(t.Expires):
		return "over since " + day(t.Expires)
	}
	return day(t.Expires)
}

// Revoke takes the token with an id out of the file.
func Revoke(o Options, id string) error {
	if o.File == "" {
		return errNoFile
	}
	if token.ID(id) != "" {
		return errors.New("this is a whole token, which now stands in the history of your shell; revoke it by its id, the part between the two underscores")
	}
	gone, err := token.Revoke(o.File, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "The token %s of %s is revoked.\n", gone.ID, gone.Name)
	return err
}
