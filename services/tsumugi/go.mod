module github.com/tsumugi-dev/tsumugi/services/tsumugi

go 1.26.0

require (
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
	github.com/tsumugi-dev/tsumugi/services/promptbuilder => ../promptbuilder
	github.com/tsumugi-dev/tsumugi/services/agent => ../agent
	github.com/tsumugi-dev/tsumugi/services/flowstore => ../flowstore
	github.com/tsumugi-dev/tsumugi/services/gateway => ../gateway
)
