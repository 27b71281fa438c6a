package story

import (
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// blame names the model server in an error about a count, and says which of the counts it was. A count that cannot be right
// is the server's fault and never passes for "fits" (field/wannabe.md 1.1 D7).
func (b Backend) blame(err error) error {
	var failed *fit.FailedError
	if !errors.As(err, &failed) {
		return err
	}
	var wrong *fit.CountError
	server := &llm.Error{Fault: llm.FaultCount, Backend: b.Backend, Address: b.Address}
	if errors.As(err, &wrong) {
		server.Message, server.Err = wrong.Error(), wrong
	} else if !errors.As(err, &server) {
		return err
	}
	tried := llm.Tried{Count: failed.Count, Characters: failed.Characters}
	if server.Tried != nil {
		tried.Took = server.Tried.Took
	}
	told := *server // which others may share
	told.Tried = &tried
	return &told
}
