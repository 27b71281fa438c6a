// Package price breaks every rule of the domain.
package price

import (
	"math/rand/v2"
	"os"
	clock "time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	_ "github.com/tsumugi-dev/tsumugi/gen/tsumugi/shop/v1"
	_ "github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	_ "github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/app"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/adapter/bank"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/store/files"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/transport"
)

var now = clock.Now

func id() uuid.UUID { _ = zap.NewNop(); _ = rand.Int(); _ = os.Args; return uuid.New() }
