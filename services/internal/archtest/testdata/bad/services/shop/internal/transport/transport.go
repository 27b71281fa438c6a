// Package transport knows a driver and an engine.
package transport

import (
	"google.golang.org/grpc"

	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/adapter/bank"
	_ "github.com/tsumugi-dev/tsumugi/services/shop/internal/store/files"
	_ "gopkg.in/yaml.v3"
)

func server() { grpc.NewServer(); grpc.NewClient("x") }
