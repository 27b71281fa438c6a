package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// Page is a text that is made of lines.
type Page struct{ strings.Builder }

// Line adds `name: text` where there is a text, on one line.
func (p *Page) Line(name, text string) {
	if text = OneLine(text); text != "" {
		fmt.Fprintf(p, "%s: %s\n", name, text)
	}
}

// List adds texts below their name, each on one line.
func (p *Page) List(name string, all []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(p, "%s:\n", name)
	for _, text := range all {
		fmt.Fprintf(p, "  - %s\n", OneLine(text))
	}
}

const (
	// maxListed is the most that is listed; whoever wants more asks for less at a time. maxPage is the most that a service gives at once.
	maxListed = 10_000
	maxPage   = 1000
)

// Listing is a table of what the agent has, newest first.
type Listing struct {
	Addr, Token string
	// Flag says how many rows are listed, Most, from 1 to 10,000.
	Flag string
	Most int
	// Head are the names of the columns, with tabs between.
	Head string
	// Out gets the table, Err that there is more.
	Out, Err io.Writer
}

// Write asks for pages, each by the token of the one before, and writes their rows.
func (l Listing) Write(page func(agent agentv1.AgentServiceClient, size int32, token string) (rows []string, next string, err error)) error {
	if l.Most < 1 || l.Most > maxListed {
		return fmt.Errorf("--%s is %d; it must be 1 to %d", l.Flag, l.Most, maxListed)
	}
	return AskAgent(l.Addr, l.Token, func(agent agentv1.AgentServiceClient) error {
		w, token := tabwriter.NewWriter(l.Out, 0, 0, 2, ' ', 0), ""
		fmt.Fprintln(w, l.Head)
		for told := 0; told < l.Most; {
			rows, next, err := page(agent, int32(min(l.Most-told, maxPage)), token)
			if err != nil {
				return err
			}
			for _, row := range rows {
				Say(w, "%s\n", row)
			}
			told += len(rows)
			if token = next; token == "" {
				return w.Flush()
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		Say(l.Err, "… there are more; --%s N lists N\n", l.Flag)
		return nil
	})
}

// AskSession asks the agent about the session that a text means.
func AskSession(ctx context.Context, addr, token, text string, ask func(agent agentv1.AgentServiceClient, name string) error) error {
	return AskAgent(addr, token, func(agent agentv1.AgentServiceClient) error {
		name, err := Session(ctx, agent, text)
		if err != nil {
			return err
		}
		return ask(agent, name)
	})
}

// WriteFile writes a file for its owner alone, which takes its place when it is complete; until then an older one stays.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what is told is why it is not there
	}
	return err
}
