package transport

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/modelerr"
)

// fault is what the caller gets for an error of the domain or of a model server. Anything else stays as it is and
// becomes INTERNAL.
func fault(err error) error {
	if answer := modelerr.Answer(err, "max_tokens"); answer != nil {
		return answer
	}
	return err
}
