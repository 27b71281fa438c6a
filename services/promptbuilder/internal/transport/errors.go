package transport

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/modelerr"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/layers"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// fault is what the caller gets for an error of the domain or of a model server. Anything else stays as it is and
// becomes INTERNAL.
func fault(err error) error {
	if answer := modelerr.Answer(err, "max_tokens"); answer != nil {
		return answer
	}
	return err
}

// systemFault is fault for a system prompt, whose fields stand behind a path.
func systemFault(err error, path string) error {
	var large *sysprompt.TooLargeError
	var nodes *nodecontext.OverflowError
	var layer *layers.OverflowError
	var unknown *llm.UnknownBackendError
	switch {
	case errors.As(err, &unknown):
		return modelerr.Unknown(unknown, path+"backend", "an estimate")
	case errors.As(err, &large):
		return apierr.New(codes.InvalidArgument, "INVALID_FIELD", large.Error()).About(path+large.Field, "has "+strconv.Itoa(large.Share)+" bytes of a prompt that is too large, more than any other field")
	case errors.As(err, &nodes):
		return contextFault(nodes, path+"context.max_tokens")
	case errors.As(err, &layer):
		answer := apierr.New(codes.FailedPrecondition, "CONTEXT_OVERFLOW", layer.Error(),
			"limit", strconv.Itoa(layer.Limit), "tokens", strconv.Itoa(layer.Tokens), "layer", layer.Layer)
		for _, id := range slices.Sorted(maps.Keys(layer.Sections)) {
			answer = answer.WithMetadata("block."+id, strconv.Itoa(layer.Sections[id]))
		}
		return answer.About("agent.budgets."+layer.Layer, "must be at least "+strconv.Itoa(layer.Tokens)+", or what the layer says must be shorter")
	}
	return fault(err)
}

func contextFault(e *nodecontext.OverflowError, field string) error {
	right := "must be at least " + strconv.Itoa(e.Tokens)
	if e.Prompt {
		right += ", or the prompt must be shorter"
	}
	return apierr.New(codes.FailedPrecondition, "CONTEXT_OVERFLOW", e.Error(), "limit", strconv.Itoa(e.Limit), "tokens", strconv.Itoa(e.Tokens)).
		About(field, right)
}
