//go:build !linux

package execchild

import (
	"context"
	"errors"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
)

var errSystem = errors.New("only Linux can hold a program in the work folder and away from the network")

// Roles are none: no process is started to run a program, on this system.
func Roles() keeper.Roles { return nil }

func mechanism() string { return "none" }

func (e *Exec) prove(context.Context) error { return errSystem }

func (e *Exec) open(string) (*os.File, string, error) { return nil, "", errSystem }

func (e *Exec) request(call) struct{} { return struct{}{} }

func (e *Exec) start(context.Context, struct{}, *os.File) (router.Output, error) {
	return router.Output{}, &router.NotStartedError{Err: errSystem}
}
