package command

import (
	"bytes"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transcript"
)

func textconvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "textconv FILE",
		Short: "Show a node or flow file as text that reads like a conversation, for git diff and git log -p",
		Long: `Show a node or flow file as text that reads like a conversation.

git calls it for the files that .gitattributes names, once it knows it:
  ` + gitConfig + `
A file that cannot be read as a node or flow is shown as it is.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return textconv(args[0], c.OutOrStdout()) },
	}
}

// gitConfig is what tells git of textconv, once for a clone: git takes no command from a repository's files.
const gitConfig = `git config diff.tsumugi.textconv "flowstore textconv"`

// textconv writes a file as text. Whatever is no node and no flow goes through byte for byte: it is there to be looked at,
// and a failure would end the whole of `git log -p`.
func textconv(name string, out io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(f, format.MaxFile+1))
	if err != nil {
		return err
	}
	if text, ok := readable(head); ok {
		_, err = out.Write(text)
		return err
	}
	_, err = io.Copy(out, io.MultiReader(bytes.NewReader(head), f))
	return err
}

// readable gives a node or flow file as text; ok is false where it is neither.
func readable(data []byte) (text []byte, ok bool) {
	if n, err := format.DecodeNode(data); err == nil {
		return transcript.Node(n), true
	}
	if f, err := format.DecodeFlow(data); err == nil {
		return transcript.Flow(f), true
	}
	return nil, false
}
