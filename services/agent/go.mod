module github.com/tsumugi-dev/tsumugi/services/agent

go 1.26.0

require (
	github.com/google/uuid v1.6.0
	github.com/tsumugi-dev/tsumugi/services/internal v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

replace (
	github.com/tsumugi-dev/tsumugi/gen => ../../gen
	github.com/tsumugi-dev/tsumugi/services/internal => ../internal
)
