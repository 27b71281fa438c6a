//go:build !linux

package execchild

import (
	"context"
	"errors"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
)

var errSystem = errors.New("only Linux can hold a program in the work folder and away from the network")

// Child says that this process was not started to run a program: no process is, on this system.
func Child() (code int, is bool) { return 0, false }

func mechanism() string { return "none" }

func (e *Exec) prove(context.Context) error { return errSystem }

func (e *Exec) open(string) (*os.File, string, error) { return nil, "", errSystem }

func (e *Exec) request(call) struct{} { return struct{}{} }

func (e *Exec) start(context.Context, struct{}, *os.File) (router.Output, error) {
	return router.Output{}, &router.NotStartedError{Err: errSystem}
}
