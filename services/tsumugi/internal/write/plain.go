package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// plain turns an error into a sentence for the writer.
func (s *session) plain(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := apierr.FromStatus(err); ok {
		return sentences(e)
	}
	if errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled {
		return errStopped
	}
	return client.Plain(err, s.Addr)
}

// flags are the options by what the services call them.
var flags = map[string]string{
	"backend": "--backend", "story.note": "--note",
	"build.preset": "--preset", "build.neutralize": "--neutralize", "preset": "--preset", "build.slack_percent": "--slack", "slack_percent": "--slack",
	"sampling.max_tokens": "--tokens", "max_tokens": "--tokens",
	"variants": "--variants", "every_option": "--variants all", "repeat": "--repeat",
}

// sentences are everything that an error of a service says: what is wrong, by the names that the writer knows, and when to
// come again.
func sentences(e *apierr.Error) error {
	var all []error
	if v := e.Violations; len(v) == 0 || !strings.HasPrefix(e.Message, v[0].Field+": ") {
		all = append(all, errors.New(e.Message))
	}
	for _, v := range e.Violations {
		if flags[v.Field] == "" && e.Code == codes.NotFound {
			continue // the message says it already
		}
		all = append(all, fmt.Errorf("%s: %s", cmp.Or(flags[v.Field], v.Field), v.Description))
	}
	if e.RetryAfter > 0 {
		seconds := int(math.Ceil(e.RetryAfter.Seconds()))
		all = append(all, fmt.Errorf("%d秒後にもう一度どうぞ try again in %d s", seconds, seconds))
	}
	return errors.Join(all...)
}

// once joins sentences, each once; nil where there is none.
func once(all ...error) error {
	if errors.Join(all...) == nil {
		return nil
	}
	var said []string
	for line := range strings.SplitSeq(fmt.Sprint(errors.Join(all...)), "\n") {
		if !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return errors.New(strings.Join(said, "\n"))
}
