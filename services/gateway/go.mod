module github.com/tsumugi-dev/tsumugi/services/gateway

go 1.26.0

require (
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
)
