module github.com/tsumugi-dev/tsumugi/services/tsumugi

go 1.26.0

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/agent => ../agent
	github.com/tsumugi-dev/tsumugi/services/flowstore => ../flowstore
	github.com/tsumugi-dev/tsumugi/services/gateway => ../gateway
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
	github.com/tsumugi-dev/tsumugi/services/promptbuilder => ../promptbuilder
)
